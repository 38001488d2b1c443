/** Where Redis is and who we are there, read from the settings. */
import { ProviderError } from "../runtime/errors.ts";

export interface RedisSettings {
  /** redis://user:password@host:port/database, or rediss:// for TLS. With Sentinels only its host does not count. */
  readonly url?: string;
  /** host:port of each Sentinel; as an address like `url` where a Sentinel itself wants a password or TLS. */
  readonly sentinels?: readonly string[];
  /** The name under which the Sentinels know the master. */
  readonly sentinelMaster?: string;
  readonly username?: string;
  readonly password?: string;
}

export interface RedisAddress {
  readonly host: string;
  readonly port: number;
  readonly tls: boolean;
  readonly username: string | undefined;
  readonly password: string | undefined;
  readonly database: number;
}

const redisPort = 6379;
const sentinelPort = 26379;

/** How we log in, and where unless Sentinels tell. */
export function redisAddress(settings: RedisSettings): RedisAddress {
  const address = parse("the Redis URL", settings.url ?? "redis://127.0.0.1", redisPort);
  return {
    ...address,
    username: settings.username ?? address.username,
    password: settings.password ?? address.password,
  };
}

export function sentinelAddresses(settings: RedisSettings): RedisAddress[] {
  return (settings.sentinels ?? []).map((text) =>
    parse("the address of a Sentinel", text.includes("://") ? text : `redis://${text}`, sentinelPort),
  );
}

/** For people: without the password. */
export function showAddress({ host, port }: RedisAddress): string {
  return host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
}

function parse(what: string, text: string, defaultPort: number): RedisAddress {
  const url = URL.parse(text);
  const database = Number(url?.pathname.slice(1) || 0);
  if (!url?.hostname || !/^rediss?:$/.test(url.protocol) || !Number.isInteger(database)) {
    // The text itself may hold a password, so the message does without it.
    throw new ProviderError("AKP_VALUE_MALFORMED", {
      value: what,
      expected: "a redis:// or rediss:// address",
      reason: "it has no host, another scheme or a database that is no number",
      example: `redis://127.0.0.1:${defaultPort}/0`,
    });
  }
  return {
    host: url.hostname.replace(/^\[|\]$/g, ""),
    port: url.port ? Number(url.port) : defaultPort,
    tls: url.protocol === "rediss:",
    username: url.username ? decodeURIComponent(url.username) : undefined,
    password: url.password ? decodeURIComponent(url.password) : undefined,
    database,
  };
}
