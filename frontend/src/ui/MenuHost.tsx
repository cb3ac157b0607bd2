import { Menu } from "@base-ui/react/menu";
import { closeMenu, type OpenMenu } from "./overlays";

/** The menu is gone before its item acts, so that what the item opens or focuses is not covered. */
function choose(act: () => void): void {
  closeMenu();
  requestAnimationFrame(act);
}

/** The one menu of the page, at a point. */
export default function MenuHost({ menu }: { menu: OpenMenu }) {
  const anchor = { getBoundingClientRect: () => DOMRect.fromRect({ x: menu.x, y: menu.y, width: 0, height: 0 }) };
  return (
    <Menu.Root open onOpenChange={(isOpen) => !isOpen && closeMenu()} modal={false}>
      <Menu.Portal>
        <Menu.Positioner anchor={anchor} side="bottom" align="start" sideOffset={0} style={{ zIndex: 60 }}>
          <Menu.Popup className="menu" aria-label={menu.label}>
            {menu.items.map((item, index) =>
              item.kind === "rule" ? (
                <div key={index} className="menu__rule" role="separator" />
              ) : (
                <Menu.Item
                  key={item.label}
                  className={`menu__item ${item.isDanger ? "menu__item--danger" : ""}`}
                  disabled={item.isDisabled ?? false}
                  onClick={() => choose(item.run)}
                >
                  {item.label}
                  {item.keys && <span className="menu__key">{item.keys}</span>}
                </Menu.Item>
              ),
            )}
          </Menu.Popup>
        </Menu.Positioner>
      </Menu.Portal>
    </Menu.Root>
  );
}
