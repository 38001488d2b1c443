/** `akash-provider run`: the provider itself, until a signal or a failure ends it. */
import { readFileSync } from "node:fs";
import { Command } from "commander";
import type { RedisOptions } from "../bus/redis.ts";
import { loadConfig } from "../config/load.ts";
import { addSettingOptions, givenFlags } from "../config/options.ts";
import type { Config } from "../config/table.ts";
import type { ChainLinkOptions } from "../provider/chain-link.ts";
import { createProvider } from "../provider/provider.ts";
import { realClock } from "../runtime/clock.ts";
import { createLog, type Log } from "../runtime/log.ts";
import { realRandom } from "../runtime/random.ts";
import { createRedactor, type Redactor } from "../runtime/redact.ts";
import { endpointsOf } from "./endpoints.ts";
import { keySettings } from "./key-settings.ts";
import { abortOnSignals } from "./signals.ts";

export function runCommand(): Command {
  const command = new Command("run").description("run the provider with your settings");
  addSettingOptions(command, "run");
  return command.action(async (_, given: Command) => {
    const flags = givenFlags(given);
    const { values, warnings } = loadConfig({
      flags,
      env: process.env,
      readFile: (path) => readFileSync(path, "utf8"),
    });
    const redactor = createRedactor();
    for (const secret of [values.redisPassword, values.certIssuerHmac, values.keyPassphrase]) {
      if (secret !== undefined) redactor.register(secret);
    }
    const { logLevel: level, logFormat: format, logColor: color, logTimestamp: timestamp } = values;
    const log = createLog({ level, format, color, timestamp, redactor });
    for (const warning of warnings) log.info(warning, { module: "config" });
    const { dataDir, metricsListener, shutdownTimeoutMs } = values;
    const redis = redisOf(values);
    const chain = await chainOf(values, redactor, log);
    const provider = createProvider({
      dataDir,
      ...(redis && { redis }),
      ...(metricsListener && { metricsListener }),
      ...(chain && { chain }),
      shutdownMs: shutdownTimeoutMs,
      clock: realClock,
      random: realRandom,
      log,
    });
    await provider.run(abortOnSignals());
  });
}

/** Without a key nothing can be signed, so the chain is left alone. */
async function chainOf(values: Config, redactor: Redactor, log: Log): Promise<ChainLinkOptions | undefined> {
  if (values.from === undefined && values.keyFile === undefined) {
    log.info("no key is named with --from or --key-file: the provider takes part in no market");
    return undefined;
  }
  const { openKey } = await import("../chain/keys/open-key.ts");
  const { signer, warnings } = await openKey(keySettings(values), redactor.register);
  for (const warning of warnings) log.info(warning, { module: "keys" });
  const { chainId, gas, gasAdjustment, gasPrices, fees, feeGranter, note } = values;
  return {
    endpoints: () => endpointsOf(values),
    ...(chainId !== undefined && { chainId }),
    signer,
    settings: { gas, gasAdjustment, gasPrices, fees, feeGranter, note },
  };
}

function redisOf(values: Config): RedisOptions | undefined {
  if (values.bus === "memory") return undefined;
  const { redisUrl, redisSentinels, redisSentinelMaster, redisUsername, redisPassword } = values;
  return {
    ...(redisUrl && { url: redisUrl }),
    ...(redisSentinels && { sentinels: redisSentinels, sentinelMaster: redisSentinelMaster }),
    ...(redisUsername && { username: redisUsername }),
    ...(redisPassword && { password: redisPassword }),
  };
}
