/** Makes docs/errors.md from the catalogue, so that the page and the program cannot disagree. */
import type { Errors } from "../src/runtime/catalogue/entry.ts";
import { areas, type ErrorEntry, exitCodes } from "../src/runtime/catalogue.ts";

const intro = `# Errors

<!-- Made from src/runtime/catalogue/ by \`npm run docs\`. Change it there. -->

Every error that the program reports to an operator or a client has a code, which stays the same between versions. A log
line shows code, message and advice. The HTTP gateway answers with the HTTP status, the gRPC services with the gRPC
status. An error that ends the program gives it the exit code. Names in braces stand for what the error was about.
`;

const exitMeanings: Record<keyof typeof exitCodes, string> = {
  failure: "Something failed that may go away: start again.",
  settings: "The settings are wrong: starting again will not help.",
  storage: "The data directory cannot be used: another instance, no permission or no room.",
};

export function errorsPage(): string {
  return [intro, exitCodeTable(), ...areas.map(areaText)].join("\n");
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
    "| 0 | The program was stopped by a signal or the control socket. |",
    ...rows,
    "",
  ].join("\n");
}

function areaText({ title, errors }: { readonly title: string; readonly errors: Errors }): string {
  const texts = Object.entries(errors).map(([code, entry]) => entryText(code, entry));
  return `## ${title}\n\n${texts.join("\n")}`;
}

function entryText(code: string, { message, advice, http, grpc, exit }: ErrorEntry): string {
  const lines = message.split("\n").map((line) => `> ${line}`);
  return [`### ${code}`, "", ...lines, "", advice, "", `HTTP ${http} · gRPC ${grpc} · exit code ${exit}`, ""].join(
    "\n",
  );
}
