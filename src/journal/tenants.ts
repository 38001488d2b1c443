/** The keys of those who have leases with us, so that they are known also while the chain cannot be asked. */
import type { Sql } from "./connection.ts";

export interface TenantRow {
  readonly owner: string;
  /** The compressed secp256k1 key that the account signs with. */
  readonly key: Uint8Array;
}

export type Tenants = ReturnType<typeof createTenants>;

export function createTenants(sql: Sql) {
  const get = sql.one<TenantRow>("SELECT owner, key FROM tenants WHERE owner = ?");
  const all = sql.all<TenantRow>("SELECT owner, key FROM tenants ORDER BY owner");
  const put = sql.run("INSERT OR REPLACE INTO tenants (owner, key) VALUES (?, ?)");
  const remove = sql.run("DELETE FROM tenants WHERE owner = ?");
  return {
    get(owner: string): TenantRow | undefined {
      const row = get(owner);
      return row && { ...row };
    },
    /** There are never more than leases. */
    all: () => all().map((row) => ({ ...row })),
    put: ({ owner, key }: TenantRow) => void put(owner, key),
    remove: (owner: string) => void remove(owner),
  };
}
