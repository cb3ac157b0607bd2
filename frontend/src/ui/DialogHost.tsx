import { Dialog } from "@base-ui/react/dialog";
import type { ReactNode } from "react";
import { t } from "../i18n";
import { Icon } from "./Icon";
import { closeDialog } from "./overlays";

/** A dialog in the middle of the page: focus stays inside, Escape and a click outside close it. */
export default function DialogHost({ title, children }: { title: string; children: ReactNode }) {
  return (
    <Dialog.Root open onOpenChange={(isOpen) => !isOpen && closeDialog()}>
      <Dialog.Portal>
        <Dialog.Backdrop className="veil" />
        <Dialog.Popup className="dialog">
          <header className="dialog__head">
            <Dialog.Title className="dialog__title">{title}</Dialog.Title>
            <Dialog.Close className="button button--icon" aria-label={t("Close")}>
              <Icon name="close" />
            </Dialog.Close>
          </header>
          <div className="dialog__body" tabIndex={0}>{children}</div>
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  );
}
