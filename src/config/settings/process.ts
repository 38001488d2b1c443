import { limits } from "../../runtime/limits.ts";
import { endpoints, listenAddress, url } from "../addresses.ts";
import { formatDuration } from "../duration.ts";
import { choice, duration, onOff, path, secret, text } from "../plain.ts";
import {
  belowHome,
  belowUserHome,
  chainPrograms,
  dead,
  type Group,
  members,
  optional,
  programs,
  services,
  setting,
} from "../setting.ts";

export const processGroup = {
  title: "Process",
  about: "Where the program keeps its files, what it says, and how it stops.",
  settings: {
    home: setting({
      flag: "home",
      kind: path,
      default: belowUserHome(".akash"),
      usedBy: programs,
      doc: "Folder of the keyring and the certificates.",
    }),
    dataDir: setting({
      flag: "data-dir",
      kind: path,
      default: belowHome("provider"),
      doc: "Folder of the journal; one running provider to a folder.",
    }),
    providerConfig: optional({
      flag: "provider-config",
      kind: path,
      usedBy: chainPrograms,
      doc: "The provider.yaml to read.",
    }),
    logLevel: setting({
      flag: "log_level",
      kind: choice(["debug", "info", "error"], { trace: "debug", warn: "info", fatal: "error", panic: "error" }),
      default: "info",
      usedBy: programs,
      doc: "The least important lines that are written to the log.",
    }),
    logFormat: setting({
      flag: "log_format",
      kind: choice(["plain", "json"]),
      default: "plain",
      usedBy: programs,
      doc: "Log lines for people or for programs.",
    }),
    logColor: setting({
      flag: "log_color",
      kind: onOff,
      default: "false",
      usedBy: programs,
      doc: "Colours in plain log lines.",
    }),
    logTimestamp: setting({
      flag: "log_timestamp",
      kind: choice(["rfc3339", "rfc3339nano", "kitchen"]),
      default: "rfc3339",
      usedBy: programs,
      doc: "How log lines write their time.",
    }),
    trace: setting({
      flag: "trace",
      kind: onOff,
      default: "false",
      usedBy: programs,
      doc: "Print where in the program an error arose when it ends the program.",
    }),
    metricsListener: optional({
      flag: "metrics-listener",
      kind: listenAddress,
      usedBy: members,
      doc: "Where Prometheus metrics are served; an operator also has them on its HTTP interface.",
    }),
    shutdownTimeoutMs: setting({
      flag: "shutdown-timeout",
      kind: duration({ zero: "refused" }),
      default: formatDuration(limits.shutdownMs),
      usedBy: services,
      doc: "How long the services may take to stop before the process ends without them.",
    }),
    persistentConfigBackend: dead({
      flag: "persistent-config-backend",
      why: "the journal in --data-dir keeps what must survive a restart",
    }),
    persistentConfigPath: dead({
      flag: "persistent-config-path",
      why: "the journal in --data-dir keeps what must survive a restart",
    }),
  },
} as const satisfies Group;

export const busGroup = {
  title: "Bus",
  about: "How the provider and the operators tell each other news.",
  settings: {
    bus: setting({
      flag: "bus",
      kind: choice(["memory", "redis"]),
      default: {
        says: "`redis` if --redis-url or --redis-sentinels is given, else `memory`",
        of: ({ isGiven }) => (isGiven("redis-url") || isGiven("redis-sentinels") ? "redis" : "memory"),
      },
      usedBy: members,
      doc: "Within this process, or through Redis for operators that run as processes of their own.",
    }),
    redisUrl: optional({
      flag: "redis-url",
      kind: url(["redis", "rediss"], "redis://redis.example.com:6379", { credentials: "refused" }),
      usedBy: members,
      doc: "The Redis to use; with Sentinels its host does not count, but rediss:// and the database do.",
    }),
    redisSentinels: optional({
      flag: "redis-sentinels",
      kind: endpoints,
      usedBy: members,
      doc: "The Sentinels that know which Redis is the master.",
    }),
    redisSentinelMaster: setting({
      flag: "redis-sentinel-master",
      kind: text("a name like mymaster", /^\S+$/, "<name>"),
      default: "mymaster",
      usedBy: members,
      doc: "The name by which the Sentinels know the master.",
    }),
    redisUsername: optional({
      flag: "redis-username",
      kind: text("a user name"),
      usedBy: members,
      doc: "The user of Redis, where it has users.",
    }),
    redisPassword: optional({
      flag: "redis-password",
      kind: secret,
      usedBy: members,
      doc: "The password of Redis.",
    }),
  },
} as const satisfies Group;
