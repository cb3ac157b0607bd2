import type { ButtonHTMLAttributes } from "react";
import { Icon, type IconName } from "./Icon";

interface Props extends ButtonHTMLAttributes<HTMLButtonElement> {
  icon?: IconName;
  /** Says what an icon alone cannot; also the tooltip. */
  label?: string;
  isSmall?: boolean;
  variant?: "plain" | "lined" | "run" | "stop";
}

export function Button({ icon, label, isSmall, variant = "plain", className = "", children, ...rest }: Props) {
  const classes = ["button"];
  if (variant !== "plain") classes.push(`button--${variant}`);
  if (isSmall) classes.push("button--small");
  if (icon && children === undefined) classes.push("button--icon");
  return (
    <button type="button" className={`${classes.join(" ")} ${className}`} title={label} aria-label={label} {...rest}>
      {icon && <Icon name={icon} />}
      {children}
    </button>
  );
}
