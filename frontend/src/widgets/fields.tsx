import { useRef, useState } from "react";
import { type ChoicesFrom, labelOf, type Param } from "../document/catalog";
import type { ParamValue } from "../document/schema";
import { t } from "../i18n";
import { uploadAsset } from "../state/assets";
import { choicesFor, useServer } from "../state/server";
import { Button } from "../ui/Button";
import { Icon } from "../ui/Icon";
import { NumberField } from "./NumberField";

export interface FieldProps {
  id: string;
  param: Param;
  value: ParamValue;
  onChange: (value: ParamValue) => void;
}

const stepOf = (param: Param): number => {
  if (param.step) return param.step;
  if (param.kind === "INT") return 1;
  const span = param.minimum !== null && param.maximum !== null ? param.maximum - param.minimum : 1;
  return span > 10 ? 0.1 : 0.01;
};

export function NumberParam({ id, param, value, onChange }: FieldProps) {
  return (
    <NumberField
      id={id}
      label={param.name}
      value={Number(value)}
      range={{ minimum: param.minimum, maximum: param.maximum, step: stepOf(param) }}
      isInteger={param.kind === "INT"}
      hasBar={param.widget === "slider"}
      unit={param.unit}
      onChange={onChange}
    />
  );
}

const HEX = /^#[0-9a-f]{6}$/i;

export function TextParam({ id, param, value, onChange }: FieldProps) {
  const text = String(value ?? "");
  return (
    <div className="text">
      {HEX.test(String(param.default)) && (
        <input
          type="color"
          className="text__swatch"
          aria-label={t("{name}, colour", { name: param.name })}
          value={HEX.test(text) ? text : "#000000"}
          onChange={(event) => onChange(event.target.value)}
        />
      )}
      <input
        id={id}
        className="text__input"
        aria-label={param.name}
        autoComplete="off"
        spellCheck={false}
        value={text}
        onChange={(event) => onChange(event.target.value)}
      />
    </div>
  );
}

export function TextAreaParam({ id, param, value, onChange }: FieldProps) {
  return (
    <textarea
      id={id}
      className={`area ${param.widget === "script" ? "area--script" : ""}`}
      aria-label={param.name}
      placeholder={labelOf(param)}
      spellCheck={false}
      value={String(value ?? "")}
      onChange={(event) => onChange(event.target.value)}
    />
  );
}

export function ToggleParam({ id, param, value, onChange }: FieldProps) {
  const isOn = value === true;
  return (
    <button
      type="button"
      id={id}
      role="switch"
      aria-checked={isOn}
      aria-label={param.name}
      className="switch"
      onClick={() => onChange(!isOn)}
    >
      <span className="switch__knob" />
    </button>
  );
}

export function ChoiceParam(props: FieldProps) {
  const from = props.param.choices_from;
  return from ? <KnownChoice {...props} from={from} /> : <Choice {...props} choices={props.param.choices ?? []} />;
}

function KnownChoice({ from, ...props }: FieldProps & { from: ChoicesFrom }) {
  const cache = useServer();
  const choices = choicesFor(cache, from);
  const isFile = from === "images" || from === "videos";
  return (
    <div className="choice-row">
      <Choice {...props} choices={choices} />
      {isFile && <UploadButton kind={from} onUploaded={props.onChange} />}
    </div>
  );
}

function Choice({ id, param, value, onChange, choices }: FieldProps & { choices: readonly string[] }) {
  const chosen = String(value ?? "");
  const isMissing = !choices.includes(chosen);
  return (
    <div className="choice">
      <select
        id={id}
        className={`choice__select ${isMissing ? "choice__select--missing" : ""}`}
        aria-label={param.name}
        value={chosen}
        onChange={(event) => onChange(event.target.value)}
      >
        {isMissing && <option value={chosen}>{chosen ? t("{name} (missing)", { name: chosen }) : t("Choose…")}</option>}
        {choices.map((choice) => (
          <option key={choice} value={choice}>
            {choice}
          </option>
        ))}
      </select>
      <Icon name="down" />
    </div>
  );
}

function UploadButton({ kind, onUploaded }: { kind: "images" | "videos"; onUploaded: (name: string) => void }) {
  const input = useRef<HTMLInputElement>(null);
  const [isBusy, setBusy] = useState(false);
  const take = async (file: File | undefined) => {
    if (!file) return;
    setBusy(true);
    const asset = await uploadAsset(file);
    setBusy(false);
    if (asset) onUploaded(asset.asset);
  };
  return (
    <>
      <Button isSmall icon="upload" label={t("Upload a file")} disabled={isBusy} onClick={() => input.current?.click()} />
      <input
        ref={input}
        type="file"
        hidden
        data-testid="upload"
        accept={kind === "images" ? "image/*" : "video/*"}
        onChange={(event) => {
          void take(event.target.files?.[0]);
          event.target.value = "";
        }}
      />
    </>
  );
}
