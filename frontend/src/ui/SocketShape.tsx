/** The shape that stands for a socket type beside its colour, so that colour is never the only sign. */
const SHAPES: Record<string, string> = {
  MODEL: "M3.500 2.300L8.500 2.300 11 6 8.500 9.700 3.500 9.700 1 6z",
  PROMPT: "M2 2h8v8H2z",
  TEXT: "M2 2h8v8H2z",
  LATENT: "M6 1l5 5-5 5-5-5z",
  VIDEO: "M6 1.500a4.500 4.500 0 100 9 4.500 4.500 0 000-9z",
  IMAGE: "M6 1.500a4.500 4.500 0 100 9 4.500 4.500 0 000-9zM6 4a2 2 0 110 4 2 2 0 010-4z",
  MASK: "M1.500 3.500h9a4.500 4.500 0 01-9 0z",
  ADAPTERS: "M6 1.500l4.700 8.500H1.300z",
  CONTROL: "M2 1.300L10.500 6 2 10.700z",
  SESSION: "M6 1a5 5 0 100 10A5 5 0 006 1zM6 2.300a3.700 3.700 0 110 7.400 3.700 3.700 0 010-7.400zM6 4a2 2 0 100 4 2 2 0 000-4z",
  SAMPLER: "M3.500 1h5v10h-5z",
  AUDIO: "M1 6q1.250-6 2.500 0t2.500 0 2.500 0 2.500 0V9H1z",
  ANY: "M6 3.500a2.500 2.500 0 100 5 2.500 2.500 0 000-5z",
};

interface Props {
  type: string;
  /** An optional input without an edge is drawn as an outline. */
  isHollow?: boolean;
}

export const SocketShape = ({ type, isHollow = false }: Props) => (
  <svg
    className={`shape ${isHollow ? "shape--hollow" : ""}`}
    viewBox="0 0 12 12"
    aria-hidden="true"
    style={{ color: `var(--wire-${type}, var(--wire-ANY))` }}
  >
    <path d={SHAPES[type] ?? SHAPES["ANY"]} fillRule="evenodd" />
  </svg>
);
