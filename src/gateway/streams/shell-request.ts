/** What a shell is asked to run, read from its query as the network reads it. */

export interface ShellRequest {
  readonly command: readonly string[];
  readonly tty: boolean;
  readonly service: string;
  readonly stdin: boolean;
  readonly podIndex: number;
}

/** Undefined where it makes no sense. */
export function readShellRequest(query: URLSearchParams): ShellRequest | undefined {
  const command = commandIn(query);
  const [tty, service, stdin] = [query.get("tty"), query.get("service"), query.get("stdin")];
  const podIndex = parsePodIndex(query.get("podIndex") ?? "");
  if (!command[0] || !tty || !service || !stdin || podIndex === undefined) return undefined;
  return { command, tty: tty === "1", service, stdin: stdin === "1", podIndex };
}

/** cmd0, cmd1 and so on, up to the first that is missing. An empty word is a word. */
function commandIn(query: URLSearchParams): string[] {
  // Of several with one name the first counts. A query looks through all it has for each that it is asked for.
  const given = new Map([...query].reverse());
  const words: string[] = [];
  for (;;) {
    const word = given.get(`cmd${words.length}`);
    if (word === undefined) return words;
    words.push(word);
  }
}

/** By what a number begins with: its base. */
const forms: readonly (readonly [base: number, form: RegExp])[] = [
  [16, /^0x((?:_?[0-9a-f])+)$/i],
  [2, /^0b((?:_?[01])+)$/i],
  [8, /^0o?((?:_?[0-7])+)$/i],
  [10, /^(0|[1-9](?:_?[0-9])*)$/],
];

/** No index has more, whatever is written before it. */
const mostChars = 64;

function parsePodIndex(text: string): number | undefined {
  if (text.length > mostChars) return undefined;
  for (const [base, form] of forms) {
    const digits = form.exec(text)?.[1]?.replaceAll("_", "");
    if (digits === undefined) continue;
    const index = Number.parseInt(digits, base);
    return index < 2 ** 31 ? index : undefined;
  }
  return undefined;
}
