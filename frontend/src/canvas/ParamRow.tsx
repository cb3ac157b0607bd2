import { memo } from "react";
import { labelOf, paramValueText } from "../document/catalog";
import type { ParamPlace } from "../document/layoutNode";
import type { ParamValue } from "../document/schema";
import { Field, isTall } from "../widgets/Field";
import { useUid } from "./state";

interface Props {
  nodeId: string;
  place: ParamPlace;
  /** Value of a param whose node type is unknown: shown, not edited. */
  rawValue: ParamValue | undefined;
  hasFinding: boolean;
}

export const ParamRow = memo(function ParamRow({ nodeId, place, rawValue, hasFinding }: Props) {
  const uid = useUid();
  const style = { top: place.y, height: place.h };
  const { param } = place;
  if (!param) {
    return (
      <div className="param" style={style}>
        <span className="param__name">{place.name}</span>
        <span className="param__raw">{paramValueText(rawValue)}</span>
      </div>
    );
  }
  const isBlock = isTall(param);
  return (
    <div className={`param ${isBlock ? "param--tall" : ""}`} style={style} data-error={hasFinding || undefined} title={param.doc}>
      {!isBlock && (
        <label className="param__name" htmlFor={`node-${nodeId}-${param.name}`}>
          {labelOf(param)}
        </label>
      )}
      <div className="param__field nodrag nowheel nopan">
        <Field uid={uid} nodeId={nodeId} param={param} surface="node" />
      </div>
    </div>
  );
});
