import { createRoot } from "react-dom/client";
import { App } from "./app/App";
import { boot } from "./app/boot";

const root = document.getElementById("root");
if (root) createRoot(root).render(<App />);
void boot();
