/** Finds the server to talk to. Sentinels are asked again for every connection: the master may have changed. */
import { reasonOf } from "../runtime/errors.ts";
import {
  type RedisAddress,
  type RedisSettings,
  redisAddress,
  sentinelAddresses,
  showAddress,
} from "./redis-address.ts";
import { type OpenOptions, openConnection, type RedisConnection } from "./redis-connection.ts";

export interface MasterFinder {
  /** Where the master is now, as far as anyone knows: `assertMaster` tells whether it is one. */
  find(options: OpenOptions): Promise<RedisAddress>;
  /** What is looked for, for people. */
  readonly description: string;
}

export function createMasterFinder(settings: RedisSettings): MasterFinder {
  const login = redisAddress(settings);
  const masterName = settings.sentinelMaster ?? "mymaster";
  let sentinels = sentinelAddresses(settings);
  if (sentinels.length === 0) return { find: () => Promise.resolve(login), description: showAddress(login) };

  async function ask(sentinel: RedisAddress, options: OpenOptions): Promise<RedisAddress> {
    const connection = await openConnection(sentinel, options);
    try {
      const reply = await connection.send(["SENTINEL", "GET-MASTER-ADDR-BY-NAME", masterName]);
      if (!Array.isArray(reply)) throw new Error(`it knows no master ${masterName}`);
      return { ...login, host: String(reply[0]), port: Number(reply[1]) };
    } finally {
      connection.close();
    }
  }

  return {
    async find(options) {
      const problems: string[] = [];
      for (const sentinel of sentinels) {
        try {
          const master = await ask(sentinel, options);
          // The one that answered is asked first the next time, so that dead ones cost their time-out once.
          sentinels = [sentinel, ...sentinels.filter((other) => other !== sentinel)];
          return master;
        } catch (error) {
          options.signal.throwIfAborted();
          problems.push(`${showAddress(sentinel)}: ${reasonOf(error)}`);
        }
      }
      throw new Error(`no Sentinel names the master ${masterName} (${problems.join("; ")})`);
    },
    description: `${masterName} of the Sentinels ${sentinels.map(showAddress).join(", ")}`,
  };
}

/** A replica answers too but takes no writes, and during a failover a Sentinel may still name the old master. */
export async function assertMaster(connection: RedisConnection, address: RedisAddress): Promise<void> {
  // HELLO tells the role to every user; ROLE and INFO need rights that a user of ours may well lack.
  const hello = await connection.send(["HELLO"]);
  const role = Array.isArray(hello) ? hello[hello.indexOf("role") + 1] : undefined;
  if (role !== "master") throw new Error(`${showAddress(address)} is no master but a ${role}`);
}
