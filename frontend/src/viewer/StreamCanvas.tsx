import { useEffect, useRef } from "react";
import { link } from "../state/link";

/** A canvas the worker draws a stream on. The element is made anew for each stream: a canvas is handed over once. */
export function StreamCanvas({ streamKey, label }: { streamKey: string; label: string }) {
  const holder = useRef<HTMLDivElement>(null);

  useEffect(() => {
    const canvas = document.createElement("canvas");
    canvas.className = "stream__canvas";
    canvas.setAttribute("role", "img");
    canvas.setAttribute("aria-label", label);
    canvas.dataset["stream"] = streamKey;
    canvas.width = 1;
    canvas.height = 1;
    holder.current?.append(canvas);
    const surface = link().attach(canvas, streamKey);
    return () => {
      link().detach(surface);
      canvas.remove();
    };
  }, [streamKey, label]);

  return <div className="stream" ref={holder} data-testid="stream" />;
}
