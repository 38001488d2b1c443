/** The valid certificates of those who have leases with us, as the chain had them when it was asked last. */
import type { Sql } from "./connection.ts";

export interface CertificateRow {
  readonly owner: string;
  /** In decimal digits. */
  readonly serial: string;
  readonly der: Uint8Array;
}

export type Certificates = ReturnType<typeof createCertificates>;

export function createCertificates(sql: Sql) {
  const of = sql.all<CertificateRow>("SELECT owner, serial, der FROM certificates WHERE owner = ? ORDER BY serial");
  const owners = sql.all<{ owner: string }>("SELECT DISTINCT owner FROM certificates ORDER BY owner");
  const put = sql.run("INSERT OR REPLACE INTO certificates (owner, serial, der) VALUES (?, ?, ?)");
  const remove = sql.run("DELETE FROM certificates WHERE owner = ? AND serial = ?");
  return {
    /** Of one owner; there are never more than are kept of one. */
    of: (owner: string) => of(owner).map((row) => ({ ...row })),
    owners: () => owners().map(({ owner }) => owner),
    put: ({ owner, serial, der }: CertificateRow) => void put(owner, serial, der),
    remove: (owner: string, serial: string) => void remove(owner, serial),
  };
}
