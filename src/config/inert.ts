/** Settings of the Go provider that do nothing here: the dead are told, and what would mislead is refused. */
import { Fault } from "./kind.ts";
import { onOff } from "./plain.ts";
import { type Findings, type Given, invalidSetting } from "./problem.ts";
import { quote } from "./quote.ts";
import { settingsByFlag } from "./table.ts";

export function judgeInert(byFlag: ReadonlyMap<string, Given>, { problems, warnings }: Findings): void {
  for (const [flag, { raw, source, name }] of byFlag) {
    const setting = settingsByFlag.get(flag);
    if (setting?.type === "dead" && !isSame(raw, setting.harmless)) {
      warnings.push(`${source} has no effect: ${setting.why}.`);
    }
    if (setting?.type === "fixed" && !isSame(raw, setting.only)) {
      const hint = `Leave --${flag} out, or write ${setting.only}.`;
      problems.push(invalidSetting(source, { name, value: quote(raw), reason: setting.why, hint }));
    }
  }
}

/** All the ways to write true, or false, are the same. */
function isSame(raw: unknown, expected: string | undefined): boolean {
  return (
    raw === expected || (expected !== undefined && switchOf(raw) !== undefined && switchOf(raw) === switchOf(expected))
  );
}

function switchOf(raw: unknown): boolean | undefined {
  const value = onOff.read(String(raw));
  return value instanceof Fault ? undefined : value;
}
