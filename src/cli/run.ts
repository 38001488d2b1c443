/** `akash-provider run`: the provider itself, until a signal or a failure ends it. */
import { readFileSync } from "node:fs";
import { Command } from "commander";
import type { RedisOptions } from "../bus/redis.ts";
import { loadConfig } from "../config/load.ts";
import { addSettingOptions, givenFlags } from "../config/options.ts";
import type { Config } from "../config/table.ts";
import { createProvider } from "../provider/provider.ts";
import { realClock } from "../runtime/clock.ts";
import { createLog } from "../runtime/log.ts";
import { realRandom } from "../runtime/random.ts";
import { createRedactor } from "../runtime/redact.ts";
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
    for (const secret of [values.redisPassword, values.certIssuerHmac]) {
      if (secret !== undefined) redactor.register(secret);
    }
    const log = createLog({
      level: values.logLevel,
      format: values.logFormat,
      color: values.logColor,
      timestamp: values.logTimestamp,
      redactor,
    });
    for (const warning of warnings) log.info(warning, { module: "config" });
    const { dataDir, metricsListener, shutdownTimeoutMs } = values;
    const redis = redisOf(values);
    const provider = createProvider({
      dataDir,
      ...(redis && { redis }),
      ...(metricsListener && { metricsListener }),
      shutdownMs: shutdownTimeoutMs,
      clock: realClock,
      random: realRandom,
      log,
    });
    await provider.run(abortOnSignals());
  });
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
