/** The settings that this process was given by flags, environment and provider.yaml, and as its parts take them. */
import { readFileSync } from "node:fs";
import { Command, Option } from "commander";
import type { RedisOptions } from "../bus/redis.ts";
import type { KeySettings } from "../chain/keys/open-key.ts";
import { type Environment, secretVariables } from "../config/environment.ts";
import {
  type FollowedSettings,
  followSettings,
  type LoadedConfig,
  loadConfig,
  printConfig,
  printConfigAsJson,
} from "../config/load.ts";
import { addSettingOptions, givenFlags } from "../config/options.ts";
import type { ReadFile } from "../config/problem.ts";
import { checkPricing } from "../config/resolve.ts";
import { type Config, liveSettings } from "../config/table.ts";
import { readKeptFiles } from "../journal/read-only.ts";
import type { Clock } from "../runtime/clock.ts";
import { ProviderError, reasonOf } from "../runtime/errors.ts";
import { createLog, type Log } from "../runtime/log.ts";
import { createRedactor, type Redactor } from "../runtime/redact.ts";

export interface TakenSettings extends LoadedConfig {
  /** For whatever prints: it knows every secret among them. */
  readonly redactor: Redactor;
  /** Why provider.yaml is not in force as it is now: its last good content is. */
  readonly rejected?: string;
  /** With provider.yaml as it changes. */
  follow(deps: { readonly clock: Clock; readonly log: Log }): FollowedSettings;
}

/** Secrets leave the environment when they are read: child processes would inherit them. "ask" and "watch" take their own settings only. */
export function takeSettings(command: Command, program?: "ask" | "watch" | "run"): TakenSettings {
  const flags = givenFlags(command);
  const env = withoutOwn(command, process.env);
  const load = (readFile: ReadFile) => {
    const read = loadConfig({ flags, env, readFile, program: program === "run" ? undefined : program });
    if (program === "run" && read.values.clusterK8s) checkPricing(read);
    return read;
  };
  const dataDir = () => loadConfig({ flags, env, readFile: readText, program: "ask" }).values.dataDir;
  const loaded = program === "run" ? loadOrFallBack(load, dataDir) : load(readText);
  for (const name of secretVariables) delete process.env[name];
  const redactor = createRedactor();
  for (const [name, { format }] of liveSettings) {
    const value = loaded.values[name];
    if (format.isSecret && value !== undefined) redactor.register(String(value));
  }
  return { ...loaded, redactor, follow: (deps) => followSettings(loaded, load, deps) };
}

const readText: ReadFile = (path) => readFileSync(path, "utf8");

/** With the last good content of provider.yaml from the journal, where that is what is wrong: leases need a provider that starts. */
function loadOrFallBack(
  load: (readFile: ReadFile) => LoadedConfig,
  dataDir: () => string,
): LoadedConfig & Pick<TakenSettings, "rejected"> {
  try {
    return load(readText);
  } catch (thrown) {
    try {
      const kept = readKeptFiles(dataDir());
      return { ...load((path) => kept.get(path) ?? readText(path)), rejected: reasonOf(thrown) };
    } catch {
      // Without a journal, or where flags or variables are wrong too.
      throw thrown;
    }
  }
}

/** A command that has a flag of its own reads its variable too; a setting of that name is not meant. */
function withoutOwn({ options }: Command, env: Environment): Environment {
  const own = new Set(options.flatMap(({ envVar }) => envVar?.replace(/^(AP|AKASH)_/, "") ?? []));
  return Object.fromEntries(Object.entries(env).filter(([name]) => !own.has(name.replace(/^(AP|AKASH)_/, ""))));
}

export interface Prepared extends TakenSettings {
  readonly log: Log;
}

/** What every program that runs for long does first: reads its settings and opens its log. */
export function prepare(command: Command, program?: "run"): Prepared {
  const settings = takeSettings(command, program);
  const { values, redactor, warnings, rejected: reason } = settings;
  const { logLevel: level, logFormat: format, logColor: color, logTimestamp: timestamp } = values;
  const log = createLog({ level, format, color, timestamp, redactor });
  for (const warning of warnings) log.info("settings warning", { module: "config", warning });
  if (reason !== undefined) {
    const path = values.providerConfig;
    log.error("provider.yaml is invalid; starting with its last good content", { module: "config", path, reason });
  }
  return { ...settings, log };
}

/** The default is a guess that a pod's own service account goes before. */
export function kubeconfigOf({ values, sources }: Pick<TakenSettings, "values" | "sources">): string | undefined {
  return sources.kubeconfig === "default" ? undefined : values.kubeconfig;
}

/** Nobody outside may take the name of something in the cluster; the provider and the hostname operator agree on that. */
export function blockedHostsOf({ deploymentBlockedHostnames, clusterDomain }: Config): string[] {
  return [...deploymentBlockedHostnames, `.${clusterDomain}`];
}

/** Throws where no setting names the account's key. */
export function requireKey({ from, keyFile }: Config): void {
  if (from !== undefined || keyFile !== undefined) return;
  throw new ProviderError("AKP_SETTING_MISSING", {
    what: "no key is named, so that the provider could neither bid nor be paid",
    hint: "Name one with --from (a key in the keyring) or --key-file. To try things without one: `akash-provider demo`, or `akash-provider chain`, which makes a chain and a key for it.",
  });
}

export function keySettings(values: Config): KeySettings {
  const { keyFile, from, keyringBackend, keyringDir, home, keyPassphrase } = values;
  const derivation = { coinType: values.keyCoinType, account: values.keyAccount, index: values.keyIndex };
  return { keyFile, from, derivation, keyringBackend, keyringDir: keyringDir ?? home, passphrase: keyPassphrase };
}

/** Undefined where the bus stays inside the process. */
export function redisOf(values: Config): RedisOptions | undefined {
  if (values.bus === "memory") return undefined;
  const { redisUrl, redisSentinels, redisSentinelMaster, redisUsername, redisPassword, redisPrefix } = values;
  return {
    ...(redisUrl && { url: redisUrl }),
    ...(redisSentinels && { sentinels: redisSentinels, sentinelMaster: redisSentinelMaster }),
    ...(redisUsername && { username: redisUsername }),
    ...(redisPassword && { password: redisPassword }),
    prefix: redisPrefix,
  };
}

/** `akash-provider config`: what the settings are, and where they came from. */
interface ConfigOutside {
  readonly env: NodeJS.ProcessEnv;
  write(text: string): void;
}

const realOutside: ConfigOutside = {
  env: process.env,
  write: (text) => {
    process.stdout.write(text);
  },
};

export function configCommand({ env, write }: ConfigOutside = realOutside): Command {
  const print = new Command("print")
    .description("show every setting, its value and where that came from")
    .addOption(new Option("-o, --output <format>", "what to print").choices(["text", "json"]).default("text"))
    .action((options: { output: "text" | "json" }, command: Command) => {
      const loaded = loadConfig({ flags: givenFlags(command), env, readFile: (path) => readFileSync(path, "utf8") });
      write(options.output === "json" ? printConfigAsJson(loaded) : printConfig(loaded));
    });
  addSettingOptions(print, "all");
  return new Command("config").description("look at the settings").addCommand(print);
}
