/** The lab's voice: one line per thing that happened, on standard output. */
export function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
