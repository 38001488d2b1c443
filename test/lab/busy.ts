/** A program that uses all cpu that it gets, and a known amount of memory. */

export const heldBytes = 40n * 2n ** 20n;

/** `tail` keeps all it read until a line ends, and none does. */
const hold = `(head -c ${heldBytes} /dev/zero; sleep 3600) | tail >/dev/null &`;

export const busyCommand: readonly string[] = ["/bin/sh", "-c", `${hold} while :; do :; done`];
