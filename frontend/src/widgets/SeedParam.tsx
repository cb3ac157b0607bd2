import { t } from "../i18n";
import { Button } from "../ui/Button";
import type { FieldProps } from "./fields";
import { NumberParam } from "./fields";

interface Props extends FieldProps {
  isRandom: boolean;
  /** The seed of the last run, where it was drawn. */
  drawn: number | null;
  onRandom: (isRandom: boolean, value?: number) => void;
}

export const randomSeed = (): number => crypto.getRandomValues(new Uint32Array(1))[0] as number;

/** A seed: locked it stays; unlocked each run draws a new one, and locking keeps the last drawn. */
export function SeedParam({ isRandom, drawn, onRandom, ...field }: Props) {
  return (
    <div className="seed" data-random={isRandom || undefined}>
      {isRandom ? (
        <output className="seed__drawn" aria-label={field.param.name}>
          {drawn === null ? t("new each run") : drawn}
        </output>
      ) : (
        <NumberParam {...field} />
      )}
      <Button
        isSmall
        icon="dice"
        label={t("New seed")}
        disabled={isRandom}
        onClick={() => field.onChange(randomSeed())}
      />
      <Button
        isSmall
        icon={isRandom ? "unlock" : "lock"}
        label={isRandom ? t("Lock the seed") : t("Draw a new seed each run")}
        aria-pressed={!isRandom}
        onClick={() => onRandom(!isRandom, isRandom && drawn !== null ? drawn : undefined)}
      />
    </div>
  );
}
