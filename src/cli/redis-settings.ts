/** The settings of Redis as the bus takes them; undefined where the bus stays inside the process. */
import type { RedisOptions } from "../bus/redis.ts";
import type { UsedConfig } from "../config/used-settings.ts";

export function redisOf(values: UsedConfig): RedisOptions | undefined {
  if (values.bus === "memory") return undefined;
  const { redisUrl, redisSentinels, redisSentinelMaster, redisUsername, redisPassword } = values;
  return {
    ...(redisUrl && { url: redisUrl }),
    ...(redisSentinels && { sentinels: redisSentinels, sentinelMaster: redisSentinelMaster }),
    ...(redisUsername && { username: redisUsername }),
    ...(redisPassword && { password: redisPassword }),
  };
}
