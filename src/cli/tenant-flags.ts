/** The flags that the commands of a tenant have in common, as the network's CLI has them; each may be a variable too. */
import { type Command, InvalidArgumentError, Option } from "commander";
import { onOff, whole } from "../config/formats/plain.ts";
import { argumentOf, settingsCommand } from "../config/options.ts";
import { variableOf } from "../config/table.ts";
import { type Address, parseAddress } from "../market/address.ts";
import { parseDseq, parseSeq } from "../market/ids.ts";
import { ProviderError } from "../runtime/errors.ts";

/** Where the provider is. */
export interface ProviderFlags {
  readonly providerUrl?: string;
  readonly offline: boolean;
  readonly provider?: Address;
}

/** Whose deployment, and how its owner proves that. */
export interface DeploymentFlags extends ProviderFlags {
  readonly dseq: bigint;
  readonly owner?: Address;
  readonly authType: "jwt" | "mtls";
}

export interface GroupFlags extends DeploymentFlags {
  readonly gseq: number;
}

export interface LeaseFlags extends GroupFlags {
  readonly oseq: number;
}

/** With all the settings that act on a chain. */
export function providerCommand(usage: string, description: string, options: readonly Option[]): Command {
  return settingsCommand("client", usage, description, options);
}

/** Variables are looked up as those of settings are: AP_ before AKASH_. */
function flag<T>(flags: string, description: string, parse?: (text: string) => T): Option {
  const option = new Option(flags, description);
  const name = variableOf(option.long?.slice(2) ?? "");
  const variables = [`AP_${name}`, `AKASH_${name}`];
  option.env(variables.find((each) => process.env[each]) ?? `AP_${name}`);
  return parse ? option.argParser(parsed(parse)) : option;
}

export const providerFlag = (what = "who has the lease; as the chain says if not given") =>
  flag("--provider <address>", what, parseAddress);
export const dseqFlag = (what = "number of the deployment") => flag("--dseq <number>", what, parseDseq);
export const gseqFlag = () => flag("--gseq <number>", "number of the group", parseSeq).default(1);
export const oseqFlag = () => flag("--oseq <number>", "number of the order", parseSeq).default(1);
export const serviceFlag = () => flag("--service <name>", "name of the service").makeOptionMandatory();
export const servicesFlag = () => flag("--service <names>", "of these services alone, with commas between them");
export const replicaFlag = () =>
  flag("--replica-index <number>", "which of its replicas", argumentOf(replicaIndex)).default(0);
export const tailFlag = (what: string) => flag("-t, --tail <number>", what, argumentOf(lineCount)).default(-1);
/** `--tty web` is no value of it, as in the network's CLI. */
export const plainSwitch = (name: string, what: string) =>
  new Option(`--${name}`, what).default(
    [`AP_${variableOf(name)}`, `AKASH_${variableOf(name)}`].some(
      (each) => onOff.read(process.env[each] ?? "") === true,
    ),
  );
export const switchFlag = (flags: string, what: string) =>
  flag(`${flags} [true|false]`, what, argumentOf(onOff)).default(false).preset("true");

export const whereFlags = () => [
  flag("--provider-url <url>", "where the provider is, instead of what the chain has: https://host:8443"),
  switchFlag("--offline", "do not ask the chain; only authorities can vouch for the provider then"),
];

const deploymentFlags = () => [
  dseqFlag().makeOptionMandatory(),
  providerFlag(),
  flag("--owner <address>", "whose deployment it is", parseAddress).hideHelp(),
  flag("--auth-type <type>", "prove who asks by a token, or by the certificate in --home")
    .choices(["jwt", "mtls"])
    .default("jwt"),
  ...whereFlags(),
];

export const groupFlags = () => [...deploymentFlags(), gseqFlag()];
export const leaseFlags = () => [...groupFlags(), oseqFlag()];

export function outputFlag<Format extends string>(first: Format, ...others: readonly Format[]): Option {
  return flag("-o, --output <format>", "what to print")
    .choices([first, ...others])
    .default(first);
}

const lineCount = { ...whole(-1, 2 ** 31 - 1), expects: "a number of lines, or -1 for all" };
const replicaIndex = { ...whole(0, 999_999_999), expects: "a number; the first has 0" };

/** Market's rejections, in the way commander tells them. */
export function parsed<T>(parse: (text: string) => T): (text: string) => T {
  return (text) => {
    try {
      return parse(text);
    } catch (thrown) {
      if (!(thrown instanceof ProviderError)) throw thrown;
      throw new InvalidArgumentError(`${thrown.message}. ${thrown.advice}`);
    }
  };
}
