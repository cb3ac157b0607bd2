const PATHS = {
  plus: "M8 3v10M3 8h10",
  minus: "M3 8h10",
  close: "M4 4l8 8M12 4l-8 8",
  play: "M5 3.2v9.6l8-4.8z",
  pause: "M5.5 3v10M10.5 3v10",
  stop: "M4 4h8v8H4z",
  back: "M11 3.5v9L5 8zM4 4v8",
  next: "M5 3.5v9L11 8zM12 4v8",
  undo: "M6 3L3 6l3 3M3 6h6.5a3.5 3.5 0 010 7H6",
  redo: "M10 3l3 3-3 3M13 6H6.500a3.500 3.500 0 000 7H10",
  fit: "M3 6V3h3M10 3h3v3M13 10v3h-3M6 13H3v-3",
  tidy: "M2.500 3h4v3h-4zM2.500 10h4v3h-4zM9.500 6.500h4v3h-4zM6.500 4.500h1.500v7H6.500M8 8h1.500",
  map: "M2.500 3.500h11v9h-11zM8.500 8.500h5v4",
  search: "M7 12A5 5 0 107 2a5 5 0 000 10zM10.700 10.700L14 14",
  nodes: "M2 3h5v4H2zM9 9h5v4H9zM7 5h2.500v6",
  templates: "M2.500 2.500h11v11h-11zM2.500 6h11M6.500 6v7.500",
  folder: "M2 12.500v-9h4l1.500 2H14v7z",
  queue: "M3 4h10M3 8h10M3 12h6",
  help: "M8 14A6 6 0 108 2a6 6 0 000 12zM6.300 6.300a1.800 1.800 0 113 1.400c-.7.6-1.300.9-1.300 1.800M8 11.500v.1",
  sun: "M8 10.500a2.500 2.500 0 100-5 2.500 2.500 0 000 5zM8 1.500v1.500M8 13v1.500M1.500 8H3M13 8h1.500M3.400 3.400l1 1M11.600 11.600l1 1M3.400 12.600l1-1M11.600 4.400l1-1",
  moon: "M13 9.500A5.500 5.500 0 016.500 3a5.500 5.500 0 106.500 6.500z",
  auto: "M8 14A6 6 0 108 2a6 6 0 000 12zM8 2v12",
  dots: "M3.500 8h.01M8 8h.01M12.500 8h.01",
  dice: "M3 3h10v10H3zM5.700 5.700h.01M10.300 10.300h.01M8 8h.01M10.300 5.700h.01M5.700 10.300h.01",
  lock: "M4 7.500h8v6H4zM5.500 7.500V5.300a2.500 2.500 0 015 0v2.200",
  unlock: "M4 7.500h8v6H4zM5.500 7.500V5.300a2.500 2.500 0 014.800-1",
  upload: "M8 11V3M5 6l3-3 3 3M3 13h10",
  download: "M8 3v8M5 8l3 3 3-3M3 13.500h10",
  save: "M3 3h8l2 2v8H3zM5.500 3v3h4V3M5.500 13V9h5v4",
  warn: "M8 2.500l6 11H2zM8 6.500v3.500M8 11.800v.1",
  check: "M3 8.500l3.500 3.500L13 4.500",
  dock: "M2.500 3h11v10h-11zM10 3v10",
  down: "M4 6l4 4 4-4",
  right: "M6 4l4 4-4 4",
  loop: "M3 8a4 4 0 014-4h4.500M10 2l2 2-2 2M13 8a4 4 0 01-4 4H4.500M6 14l-2-2 2-2",
  key: "M2.500 4.500h11v7h-11zM5 7h.01M8 7h.01M11 7h.01M5.500 9.500h5",
  trash: "M3 4.500h10M6 4.500V3h4v1.500M4.500 4.500l.7 9h5.600l.7-9",
} as const;

export type IconName = keyof typeof PATHS;

export const Icon = ({ name }: { name: IconName }) => (
  <svg className="icon" viewBox="0 0 16 16" aria-hidden="true">
    <path d={PATHS[name]} />
  </svg>
);
