/** Draws frames on a terminal in place and puts everything back when it is closed. */
import type { ReadStream, WriteStream } from "node:tty";

interface Terminal {
  readonly columns: number;
  readonly rows: number;
  readonly color: boolean;
  draw(lines: readonly string[]): void;
  close(): void;
}

const command = "\u001b[";
const otherScreen = `${command}?1049h`;
const firstScreen = `${command}?1049l`;
const hideCursor = `${command}?25l`;
const showCursor = `${command}?25h`;
const home = `${command}H`;
const eraseLine = `${command}K`;
const eraseBelow = `${command}J`;

export function openTerminal(input: ReadStream, output: WriteStream, onQuit: () => void): Terminal {
  output.write(otherScreen + hideCursor);
  const onKey = (key: Buffer) => {
    // In raw mode Ctrl-C and Ctrl-D arrive as bytes 3 and 4 instead of a signal.
    if (["q", "Q", "\u0003", "\u0004"].includes(key.toString())) onQuit();
  };
  const keys = input.isTTY === true;
  if (keys) {
    input.setRawMode(true);
    input.on("data", onKey);
  }
  return {
    get columns() {
      return output.columns;
    },
    get rows() {
      return output.rows;
    },
    color: output.hasColors(),
    draw(lines) {
      output.write(home + lines.map((line) => `${line}${eraseLine}`).join("\r\n") + eraseBelow);
    },
    close() {
      if (keys) {
        input.off("data", onKey);
        input.setRawMode(false);
        input.pause();
      }
      output.write(showCursor + firstScreen);
    },
  };
}
