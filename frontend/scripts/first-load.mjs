// Prints the gzip size of the script and style a first visit loads, and fails above the budget.
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

const BUDGET_KB = 250;
const root = new URL("../../backend/static/", import.meta.url);
const manifest = JSON.parse(readFileSync(new URL(".vite/manifest.json", root), "utf8"));
const gzipKb = (file) => gzipSync(readFileSync(fileURLToPath(new URL(file, root)))).length / 1000;

const scripts = new Set();
const styles = new Set();
const visit = (key) => {
  const chunk = manifest[key];
  if (scripts.has(chunk.file)) return;
  scripts.add(chunk.file);
  for (const style of chunk.css ?? []) styles.add(style);
  for (const next of chunk.imports ?? []) visit(next);
};
for (const [key, chunk] of Object.entries(manifest)) if (chunk.isEntry) visit(key);
const total = (files) => [...files].reduce((sum, file) => sum + gzipKb(file), 0);
const scriptKb = total(scripts);
console.log(`first load: ${scriptKb.toFixed(1)} kB script, ${total(styles).toFixed(1)} kB style, gzip (budget ${BUDGET_KB})`);
if (scriptKb > BUDGET_KB) process.exit(1);
