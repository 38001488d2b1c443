/** The certificates that a client presented in its handshake, which are the same for all requests of a connection. */
import type { X509Certificate } from "node:crypto";
import type { TLSSocket } from "node:tls";

/** One is good and more are refused, so there is no need to count on. */
const most = 3;
const none: readonly Uint8Array[] = [];
const known = new WeakMap<TLSSocket, readonly Uint8Array[]>();

export function presentedCertificates(socket: TLSSocket): readonly Uint8Array[] {
  const before = known.get(socket);
  if (before) return before;
  const read = readCertificates(socket);
  known.set(socket, read);
  return read;
}

function readCertificates(socket: TLSSocket): readonly Uint8Array[] {
  const first = socket.getPeerX509Certificate();
  if (!first) return none;
  const presented: Uint8Array[] = [];
  let next: X509Certificate | undefined = first;
  while (next && presented.length < most) {
    presented.push(next.raw);
    next = next.issuerCertificate;
  }
  return presented;
}
