import { t } from "../i18n";

/** How long ago, in one short word group. `seconds` since 1970. */
export function ago(seconds: number): string {
  const passed = Date.now() / 1000 - seconds;
  if (passed < 60) return t("just now");
  if (passed < 3600) return t("{n} min ago", { n: Math.floor(passed / 60) });
  if (passed < 86_400) return t("{n} h ago", { n: Math.floor(passed / 3600) });
  return new Date(seconds * 1000).toLocaleDateString();
}
