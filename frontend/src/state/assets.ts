import { ApiError, rest } from "../transport/rest";
import { notify } from "./notices";
import { t } from "../i18n";
import type { Asset } from "../wire/api";
import { recheckAll } from "./checks";
import { refresh } from "./server";

/** Sends a picture or clip to the server. Null when it was refused; the reason is shown. */
export async function uploadAsset(file: File): Promise<Asset | null> {
  try {
    const { asset } = await rest.upload(file);
    await refresh.assets();
    recheckAll();
    notify(t("Uploaded {name}", { name: asset.asset }));
    return asset;
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    notify(t("{file} was not taken: {reason}", { file: file.name, reason: error.message }), "error");
    return null;
  }
}
