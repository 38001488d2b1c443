/** docs/cli.md, made from the commands of the program. */
import type { Command } from "commander";
import { programFor } from "../src/cli/commands.ts";

const introduction = `# Commands

This page is made from the program's own commands by \`npm run docs\`. \`akash-provider help COMMAND\` prints the same with the settings
that a command reads; [configuration.md](configuration.md) describes those.

In a clone the program is \`bin/akash-provider\`. Commands that act on the running provider reach it through a socket in its data
directory (\`--data-dir\`), so they need no key and no network. Exit codes: 0 done, 1 failed, 2 wrong usage or settings, or a negative
result of a command that checks something.`;

export async function cliPage(): Promise<string> {
  const { commands } = await programFor("");
  const overview = commands.map((command) => `| [\`${command.name()}\`](#${command.name()}) | ${cell(command)} |`);
  const sections = commands.map((command) => section(command, command.name(), "##"));
  return `${[introduction, ["| command | what it does |", "|---|---|", ...overview].join("\n"), ...sections].join("\n\n")}\n`;
}

function section(command: Command, name: string, heading: string): string {
  const options = command.options.filter((option) => !option.helpGroupHeading && !option.hidden);
  const rows = options.map((option) => `| \`${option.flags.replaceAll("|", "\\|")}\` | ${option.description} |`);
  const below = command.commands.map((each) => section(each, `${name} ${each.name()}`, "###"));
  const usage = command.commands.length > 0 ? [] : [`\`akash-provider ${`${name} ${command.usage()}`.trim()}\``];
  const table = rows.length > 0 ? [["| option | |", "|---|---|", ...rows].join("\n")] : [];
  return [`${heading} ${name}`, ...usage, sentence(command.description()), ...table, ...below].join("\n\n");
}

const cell = (command: Command) => sentence(command.description()).replaceAll("|", "\\|");

function sentence(text: string): string {
  const capital = text.charAt(0).toUpperCase() + text.slice(1);
  return /[.?!]$/.test(capital) ? capital : `${capital}.`;
}
