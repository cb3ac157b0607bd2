import { type RefObject, useEffect, useState } from "react";
import { t } from "../i18n";
import { Button } from "../ui/Button";
import type { Picture } from "./picture";

type Clip = Extract<Picture, { kind: "video" | "image" }>;

interface Props {
  video: RefObject<HTMLVideoElement | null>;
  picture: Clip;
}

const timecode = (frame: number, fps: number): string => {
  const seconds = Math.floor(frame / fps);
  const rest = Math.floor(frame % fps);
  const pad = (value: number) => String(value).padStart(2, "0");
  return `${pad(Math.floor(seconds / 60))}:${pad(seconds % 60)}.${pad(rest)}`;
};

/** Play, step and scrub a finished clip, by frames. */
export function ClipTransport({ video, picture }: Props) {
  const fps = picture.fps || 16;
  const last = Math.max(picture.frameCount - 1, 0);
  const [frame, setFrame] = useState(0);
  const [isPlaying, setPlaying] = useState(true);
  const [isLooping, setLooping] = useState(true);

  useEffect(() => {
    const element = video.current;
    if (!element) return;
    let request = 0;
    const note = () => {
      setFrame(Math.min(Math.floor(element.currentTime * fps + 0.01), last));
      request = element.requestVideoFrameCallback(note);
    };
    const onState = () => setPlaying(!element.paused);
    request = element.requestVideoFrameCallback(note);
    element.addEventListener("play", onState);
    element.addEventListener("pause", onState);
    return () => {
      element.cancelVideoFrameCallback(request);
      element.removeEventListener("play", onState);
      element.removeEventListener("pause", onState);
    };
  }, [video, fps, last]);

  const seek = (to: number) => {
    const element = video.current;
    if (!element) return;
    const next = Math.min(Math.max(to, 0), last);
    element.pause();
    element.currentTime = (next + 0.5) / fps;
    setFrame(next);
  };
  const toggle = () => {
    const element = video.current;
    if (!element) return;
    if (element.paused) void element.play();
    else element.pause();
  };

  useEffect(() => {
    const stage = video.current?.closest<HTMLElement>("[data-player]");
    const keys: Record<string, () => void> = {
      " ": toggle,
      k: toggle,
      j: () => seek(frame - Math.round(fps / 2)),
      l: () => seek(frame + Math.round(fps / 2)),
      ArrowLeft: () => seek(frame - 1),
      ArrowRight: () => seek(frame + 1),
      Home: () => seek(0),
      End: () => seek(last),
    };
    const onKey = (event: KeyboardEvent) => {
      const act = keys[event.key];
      if (!act || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      event.stopPropagation();
      act();
    };
    stage?.addEventListener("keydown", onKey);
    return () => stage?.removeEventListener("keydown", onKey);
  });

  const toggleLoop = () => {
    if (video.current) video.current.loop = !isLooping;
    setLooping(!isLooping);
  };

  return (
    <div className="transport-block">
      <div className="transport" role="toolbar" aria-label={t("Playback")}>
        <Button isSmall icon="back" label={t("First frame (Home)")} onClick={() => seek(0)} />
        <Button isSmall icon={isPlaying ? "pause" : "play"} label={isPlaying ? t("Pause (K)") : t("Play (K)")} onClick={toggle} />
        <Button isSmall icon="next" label={t("Next frame (→)")} onClick={() => seek(frame + 1)} />
        <Button isSmall icon="loop" label={t("Loop")} aria-pressed={isLooping} onClick={toggleLoop} />
        <span className="transport__time">
          {timecode(frame, fps)} &nbsp;<b>f {frame + 1}</b>/{last + 1} &nbsp;{fps} fps
        </span>
        <a className="button button--small button--icon" href={picture.url} download={picture.name} title={t("Download")} aria-label={t("Download")}>
          <svg className="icon" viewBox="0 0 16 16" aria-hidden="true">
            <path d="M8 3v8M5 8l3 3 3-3M3 13.500h10" />
          </svg>
        </a>
      </div>
      <div className="scrub">
        <div className="scrub__ticks" style={{ backgroundSize: `${(100 / Math.max(last, 1)) * 4}% 100%` }} />
        <input
          type="range"
          className="scrub__input"
          aria-label={t("Frame")}
          min={0}
          max={last}
          value={frame}
          onChange={(event) => seek(Number(event.target.value))}
        />
      </div>
    </div>
  );
}
