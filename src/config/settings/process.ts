import { journalOrdersKeepMs, shutdownLimitMs } from "../../runtime/limits.ts";
import { endpoints, listenAddress, url, webhook } from "../formats/addresses.ts";
import { choice, duration, formatDuration, freeText, onOff, path, secret } from "../formats/plain.ts";
import {
  belowHome,
  belowUserHome,
  busPrograms,
  chainPrograms,
  dead,
  group,
  logPrograms,
  optionalRow,
  programs,
  services,
  setting,
} from "../setting.ts";

export const processGroup = group({
  title: "Process",
  about: "Where the program keeps its files, what it says, and how it stops.",
  usedBy: logPrograms,
  settings: {
    home: setting("home", path, {
      default: belowUserHome(".akash"),
      usedBy: programs,
      doc: "Folder of the keyring and the certificates.",
    }),
    dataDir: setting("data-dir", path, {
      default: belowHome("provider"),
      usedBy: ["run", "ask", "watch"],
      doc: "Folder of the journal and of the socket on which commands ask; one running provider to a folder.",
    }),
    marketRetentionMs: setting("market-retention", duration({ zero: "refused" }), {
      default: formatDuration(journalOrdersKeepMs),
      usedBy: ["run"],
      doc: "How long the journal remembers how orders ended: who won, at which price, what we asked.",
    }),
    providerConfig: optionalRow("provider-config", path, { usedBy: chainPrograms, doc: "The provider.yaml to read." }),
    logLevel: setting(
      "log_level",
      choice(["debug", "info", "warn", "error"], { trace: "debug", fatal: "error", panic: "error" }),
      { default: "info", doc: "The least important lines that are written to the log." },
    ),
    logFormat: setting("log_format", choice(["plain", "json"]), {
      default: "plain",
      doc: "Log lines for people or for programs.",
    }),
    logColor: setting("log_color", onOff, { default: "false", doc: "Colours in plain log lines." }),
    logTimestamp: setting("log_timestamp", choice(["rfc3339", "rfc3339nano", "kitchen"]), {
      default: "rfc3339",
      doc: "How log lines write their time.",
    }),
    trace: setting("trace", onOff, {
      default: "false",
      usedBy: programs,
      doc: "Print where in the program an error arose when it ends the program.",
    }),
    metricsListener: optionalRow("metrics-listener", listenAddress, {
      usedBy: busPrograms,
      doc: "Where Prometheus metrics are served; an operator also has them on its HTTP interface.",
    }),
    notifyUrl: optionalRow("notify-url", webhook, {
      usedBy: ["run"],
      doc: "Where conditions are posted as they come and go, as JSON; what is wrong now is also in `akash-provider conditions`.",
    }),
    shutdownTimeoutMs: setting("shutdown-timeout", duration({ zero: "refused" }), {
      default: formatDuration(shutdownLimitMs),
      usedBy: services,
      doc: "How long the services may take to stop before the process ends without them.",
    }),
  },
  inert: [
    dead("persistent-config-backend", "the journal in --data-dir keeps what must survive a restart"),
    dead("persistent-config-path", "the journal in --data-dir keeps what must survive a restart"),
  ],
});

export const busGroup = group({
  title: "Bus",
  about: "How the provider and the operators tell each other news; docs/bus.md describes it.",
  usedBy: [...busPrograms, "watch"],
  settings: {
    bus: setting("bus", choice(["memory", "redis"]), {
      default: {
        says: "`redis` if --redis-url or --redis-sentinels is given, else `memory`",
        of: ({ isGiven }) => (isGiven("redis-url") || isGiven("redis-sentinels") ? "redis" : "memory"),
      },
      doc: "Within this process, or through Redis for operators that run as processes of their own.",
    }),
    redisUrl: optionalRow(
      "redis-url",
      url(["redis", "rediss"], "redis://redis.example.com:6379", { credentials: "refused" }),
      { doc: "The Redis to use; with Sentinels its host does not count, but rediss:// and the database do." },
    ),
    redisSentinels: optionalRow("redis-sentinels", endpoints, {
      doc: "The Sentinels that know which Redis is the master.",
    }),
    redisSentinelMaster: setting("redis-sentinel-master", freeText("a name like mymaster", /^\S+$/, "<name>"), {
      default: "mymaster",
      doc: "The name by which the Sentinels know the master.",
    }),
    redisUsername: optionalRow("redis-username", freeText("a user name"), {
      doc: "The user of Redis, where it has users.",
    }),
    redisPassword: optionalRow("redis-password", secret, { doc: "The password of Redis." }),
    redisPrefix: setting("redis-prefix", freeText("a prefix like akash-provider:", /^\S+$/, "<prefix>"), {
      default: "akash-provider:",
      doc: "What the names of keys and channels in Redis begin with; a provider and its operators share one, other providers need another.",
    }),
  },
});
