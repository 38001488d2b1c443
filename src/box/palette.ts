/** How the live view sets things apart, with colours and without. */
import type { ServiceState } from "../runtime/lifecycle.ts";

type Paint = (text: string) => string;

export interface Palette {
  readonly heading: Paint;
  readonly faint: Paint;
  readonly good: Paint;
  readonly bad: Paint;
  readonly state: Record<ServiceState, Paint>;
}

const escapeCharacter = "\u001b";
const colorCodeOrCharacter = new RegExp(`${escapeCharacter}\\[[0-9;]*m|.`, "gu");

const same: Paint = (text) => text;
const paint =
  (code: number): Paint =>
  (text) =>
    `${escapeCharacter}[${code}m${text}${escapeCharacter}[0m`;

export const plain: Palette = {
  heading: same,
  faint: same,
  good: same,
  bad: same,
  state: { init: same, running: same, shutdown: same, done: same },
};

export const colors: Palette = {
  heading: paint(1),
  faint: paint(2),
  good: paint(32),
  bad: paint(31),
  state: { init: paint(33), running: paint(32), shutdown: paint(33), done: paint(90) },
};

/** Cuts to the width of the terminal, not counting colour codes, and ends any colour that was cut open. */
export function cut(line: string, columns: number): string {
  let width = 0;
  let result = "";
  for (const part of line.match(colorCodeOrCharacter) ?? []) {
    if (part.startsWith(escapeCharacter)) {
      result += part;
    } else if (width < columns) {
      result += part;
      width += 1;
    }
  }
  return result;
}
