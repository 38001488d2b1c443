/**
 * What the chip of an NVIDIA card can do, as CUDA counts it. NVIDIA gives out device ids in blocks, one for each chip,
 * so the id tells the chip. An id outside the blocks has none rather than a wrong one.
 */
const blocks: readonly (readonly [first: number, last: number, capability: string])[] = [
  [0x1340, 0x139f, "5.0"], // Maxwell: GM108, GM107
  [0x13c0, 0x143f, "5.2"], // GM204, GM206
  [0x17c0, 0x17ff, "5.2"], // GM200
  [0x15f0, 0x15ff, "6.0"], // Pascal: GP100
  [0x1b00, 0x1d7f, "6.1"], // GP102, GP104, GP106, GP107, GP108
  [0x1d80, 0x1dff, "7.0"], // Volta: GV100
  [0x1e00, 0x1fff, "7.5"], // Turing: TU102, TU104, TU106, TU117
  [0x2180, 0x21ff, "7.5"], // TU116
  [0x2080, 0x20ff, "8.0"], // Ampere: GA100
  [0x2200, 0x227f, "8.6"], // GA102
  [0x2400, 0x25ff, "8.6"], // GA103, GA104, GA106, GA107
  [0x2680, 0x28ff, "8.9"], // Ada: AD102, AD103, AD104, AD106, AD107
  [0x2300, 0x23ff, "9.0"], // Hopper: GH100
  [0x2900, 0x297f, "10.0"], // Blackwell: GB100
  [0x3180, 0x31ff, "10.3"], // GB110
  [0x2b80, 0x2dff, "12.0"], // GB202, GB203, GB206, GB207
  [0x2f00, 0x2f7f, "12.0"], // GB205
];

export function computeCapabilityOf(deviceId: string): string | undefined {
  const id = Number.parseInt(deviceId, 16);
  return blocks.find(([first, last]) => id >= first && id <= last)?.[2];
}
