/** Makes docs/errors.md from the catalogue, so that the page and the program cannot disagree. */
import { catalogue, type ErrorEntry, exitCodes } from "./catalogue.ts";

/** Areas in the order of the page, and the beginnings of the codes that belong to each. */
const areas: readonly { readonly title: string; readonly beginnings: readonly string[] }[] = [
  { title: "Settings", beginnings: ["SETTING"] },
  { title: "Data directory and journal", beginnings: ["DATA_DIR", "DISK", "JOURNAL"] },
  { title: "Running", beginnings: ["QUEUE", "SERVICE", "SHUTDOWN", "LISTEN", "INTERNAL"] },
  { title: "Bus", beginnings: ["BUS"] },
  { title: "Keys", beginnings: ["KEY", "MNEMONIC"] },
  { title: "Chain", beginnings: ["CHAIN"] },
  {
    title: "Transactions",
    beginnings: ["OUTBOX", "INTENT", "TX", "FEE", "WALLET", "STAMPS", "MESSAGE"],
  },
  { title: "Market", beginnings: ["VALUE", "COIN", "AMOUNT"] },
];

const intro = `# Errors

<!-- Made from src/runtime/catalogue.ts by \`npm run docs\`. Change it there. -->

Every error that the program tells a person or a client about has a code, which stays the same between versions. A log
line shows code, message and advice. The HTTP gateway answers with the HTTP status, the gRPC services with the gRPC
status. An error that ends the program gives it the exit code. Names in braces stand for what the error was about.
`;

const exitMeanings: Record<keyof typeof exitCodes, string> = {
  failure: "Something failed that may go away: start again.",
  settings: "The settings are wrong: starting again will not help.",
  storage: "The data directory cannot be used: another instance, no permission or no room.",
};

export function errorsPage(): string {
  return [intro, exitCodeTable(), ...sections(catalogue).map(sectionText)].join("\n");
}

function exitCodeTable(): string {
  const rows = Object.entries(exitMeanings).map(
    ([name, meaning]) => `| ${exitCodes[name as keyof typeof exitCodes]} | ${meaning} |`,
  );
  return [
    "## Exit codes",
    "",
    "| code | meaning |",
    "|---|---|",
    "| 0 | The program was asked to stop, and did. |",
    ...rows,
    "",
  ].join("\n");
}

interface Section {
  readonly title: string;
  readonly codes: readonly [code: string, entry: ErrorEntry][];
}

/** Codes of an area that is not listed above come last, under the first word of the code. */
function sections(entries: Readonly<Record<string, ErrorEntry>>): Section[] {
  const byTitle = new Map<string, [string, ErrorEntry][]>(areas.map(({ title }) => [title, []]));
  for (const [code, entry] of Object.entries(entries)) {
    const title = areaOf(code);
    byTitle.set(title, [...(byTitle.get(title) ?? []), [code, entry]]);
  }
  return [...byTitle].map(([title, codes]) => ({ title, codes })).filter(({ codes }) => codes.length > 0);
}

function areaOf(code: string): string {
  const rest = code.slice("AKP_".length);
  const area = areas.find(({ beginnings }) => beginnings.some((beginning) => rest.startsWith(beginning)));
  const [word = ""] = rest.split("_");
  return area?.title ?? word.charAt(0) + word.slice(1).toLowerCase();
}

function sectionText({ title, codes }: Section): string {
  return `## ${title}\n\n${codes.map(([code, entry]) => entryText(code, entry)).join("\n")}`;
}

function entryText(code: string, { message, advice, http, grpc, exit }: ErrorEntry): string {
  const lines = message.split("\n").map((line) => `> ${line}`);
  return [`### ${code}`, "", ...lines, "", advice, "", `HTTP ${http} · gRPC ${grpc} · exit code ${exit}`, ""].join(
    "\n",
  );
}
