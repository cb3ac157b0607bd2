import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

const server = process.env["RUSHES_SERVER"] ?? "http://127.0.0.1:8190";

export default defineConfig({
  base: "./",
  plugins: [react()],
  build: {
    outDir: "../backend/static",
    emptyOutDir: true,
    manifest: true,
    target: "es2023",
    assetsInlineLimit: 0,
    chunkSizeWarningLimit: 800,
  },
  worker: { format: "es" },
  server: { proxy: { "/api": { target: server, ws: true, changeOrigin: true } } },
});
