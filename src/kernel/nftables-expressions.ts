// The expressions of rules, as attributes. In: data. Out: bytes in the order in which nft writes them, so that what we send
// can be compared with what it sends. Constants have the names of linux/netfilter/nf_tables.h.
import { assertNever } from '../lib/assert.ts';
import type { MessageWriter } from './netlink/attributes.ts';
import type { NftExpression, NftTable, NftVerdict } from './nftables-objects.ts';

const NFTA_LIST_ELEM = 1;
const NFTA_EXPR_NAME = 1;
const NFTA_EXPR_DATA = 2;
const NFTA_DATA_VALUE = 1;
const NFTA_DATA_VERDICT = 2;
const NFTA_VERDICT_CODE = 1;
const NFTA_VERDICT_CHAIN = 2;

export const VERDICT_CODES = { drop: 0, accept: 1, jump: -3, goto: -4, return: -5 } as const;

export const PAYLOAD_BASE = { network: 1, transport: 2 } as const;
export const META_KEY = { mark: 3, iifname: 6, l4proto: 16 } as const;
export const CT_KEY = { state: 0, status: 2, 'proto-dst': 12, 'dst-ip': 20, 'dst-ip6': 22 } as const;
export const IP_CT_DIR_ORIGINAL = 0;
export const NFT_FIB_RESULT_ADDRTYPE = 3;
export const FIB_FLAG = { saddr: 1, daddr: 2 } as const;
export const COMPARE_OP = { equal: 0, 'not-equal': 1 } as const;
export const NFT_LOOKUP_F_INV = 1;
export const NFT_NG_RANDOM = 1;
export const NFT_NAT_DNAT = 1;
const NF_NAT_RANGE_PROTO_SPECIFIED = 2;
export const NF_NAT_RANGE_PROTO_RANDOM_FULLY = 0x10;
export const NFT_REJECT_ICMP_UNREACH = 0;
export const ICMP_PORT_UNREACHABLE = { IPv4: 3, IPv6: 4 } as const;
export const NFT_DYNSET_OP_UPDATE = 1;
export const FAMILY_NUMBER = { IPv4: 2, IPv6: 10 } as const;

/** How a set is referred to within a transaction: by its name, and by a number where the transaction makes it. */
export interface SetReference {
  readonly name: string;
  readonly id: number | undefined;
}

export type ResolveSet = (set: Extract<NftExpression, { kind: 'lookup' }>['set']) => SetReference;

export function writeExpression(
  writer: MessageWriter,
  table: NftTable,
  expression: NftExpression,
  resolve: ResolveSet,
): void {
  writer.begin(NFTA_LIST_ELEM);
  writer.text(NFTA_EXPR_NAME, KERNEL_NAMES[expression.kind]);
  writer.begin(NFTA_EXPR_DATA);
  writeData(writer, table, expression, resolve);
  writer.end();
  writer.end();
}

const KERNEL_NAMES: Readonly<Record<NftExpression['kind'], string>> = {
  payload: 'payload',
  meta: 'meta',
  'meta-set': 'meta',
  ct: 'ct',
  'ct-original': 'ct',
  'fib-type': 'fib',
  compare: 'cmp',
  bitwise: 'bitwise',
  lookup: 'lookup',
  'numgen-random': 'numgen',
  dnat: 'nat',
  masquerade: 'masq',
  'reject-port-unreachable': 'reject',
  verdict: 'immediate',
  immediate: 'immediate',
  update: 'dynset',
};

// The first number of each call is the attribute's, as in NFTA_PAYLOAD_DREG 1, NFTA_PAYLOAD_BASE 2 and so on.
function writeData(writer: MessageWriter, table: NftTable, expression: NftExpression, resolve: ResolveSet): void {
  switch (expression.kind) {
    case 'payload':
      writer.u32(1, expression.register);
      writer.u32(2, PAYLOAD_BASE[expression.base]);
      writer.u32(3, expression.offset);
      writer.u32(4, expression.length);
      return;
    case 'meta':
      writer.u32(2, META_KEY[expression.key]);
      writer.u32(1, expression.register);
      return;
    case 'meta-set':
      writer.u32(2, META_KEY[expression.key]);
      writer.u32(3, expression.register);
      return;
    case 'ct':
    case 'ct-original':
      writer.u32(2, CT_KEY[expression.key]);
      writer.u32(1, expression.register);
      if (expression.kind === 'ct-original') writer.u8(3, IP_CT_DIR_ORIGINAL);
      return;
    case 'fib-type':
      writer.u32(3, FIB_FLAG[expression.of]);
      writer.u32(2, NFT_FIB_RESULT_ADDRTYPE);
      writer.u32(1, expression.register);
      return;
    case 'compare':
      writer.u32(1, expression.register);
      writer.u32(2, COMPARE_OP[expression.is]);
      writeValue(writer, 3, expression.data);
      return;
    case 'bitwise':
      writer.u32(1, expression.register);
      writer.u32(2, expression.register);
      if (expression.isComputation) writer.u32(6, 0);
      writer.u32(3, expression.mask.length);
      writeValue(writer, 4, expression.mask);
      writeValue(writer, 5, expression.xor);
      return;
    case 'lookup':
      writeLookup(writer, expression, resolve(expression.set));
      return;
    case 'numgen-random':
      writer.u32(1, expression.register);
      writer.u32(2, expression.modulus);
      writer.u32(3, NFT_NG_RANDOM);
      writer.u32(4, expression.offset);
      return;
    case 'dnat':
      writer.u32(1, NFT_NAT_DNAT);
      writer.u32(2, FAMILY_NUMBER[table.family]);
      writer.u32(3, expression.addressRegister);
      writer.u32(5, expression.portRegister);
      if (expression.isPortConstant) writer.u32(7, NF_NAT_RANGE_PROTO_SPECIFIED);
      return;
    case 'masquerade':
      if (expression.isFullyRandom) writer.u32(1, NF_NAT_RANGE_PROTO_RANDOM_FULLY);
      return;
    case 'reject-port-unreachable':
      writer.u32(1, NFT_REJECT_ICMP_UNREACH);
      writer.u8(2, ICMP_PORT_UNREACHABLE[table.family]);
      return;
    case 'verdict':
      writer.u32(1, 0);
      writer.begin(2);
      writeVerdict(writer, expression.verdict);
      writer.end();
      return;
    case 'immediate':
      writer.u32(1, expression.register);
      writeValue(writer, 2, expression.data);
      return;
    case 'update':
      writeUpdate(writer, expression, resolve(expression.map));
      return;
    default:
      assertNever(expression);
  }
}

function writeLookup(
  writer: MessageWriter,
  lookup: Extract<NftExpression, { kind: 'lookup' }>,
  { name, id }: SetReference,
): void {
  writer.u32(2, lookup.register);
  if (lookup.into !== undefined) writer.u32(3, lookup.into);
  writer.text(1, name);
  if (id !== undefined) writer.u32(4, id);
  if (lookup.isNegated) writer.u32(5, NFT_LOOKUP_F_INV);
}

function writeUpdate(
  writer: MessageWriter,
  update: Extract<NftExpression, { kind: 'update' }>,
  { name, id }: SetReference,
): void {
  writer.u32(4, update.keyRegister);
  writer.u32(5, update.valueRegister);
  writer.u32(3, NFT_DYNSET_OP_UPDATE);
  writer.u64(6, BigInt(update.timeoutSeconds) * 1000n);
  writer.text(1, name);
  if (id !== undefined) writer.u32(2, id);
}

export function writeValue(writer: MessageWriter, type: number, bytes: Uint8Array): void {
  writer.begin(type);
  writer.bytes(NFTA_DATA_VALUE, bytes);
  writer.end();
}

export function writeVerdict(writer: MessageWriter, verdict: NftVerdict): void {
  writer.begin(NFTA_DATA_VERDICT);
  writer.u32(NFTA_VERDICT_CODE, VERDICT_CODES[verdict.kind]);
  if ('chain' in verdict) writer.text(NFTA_VERDICT_CHAIN, verdict.chain);
  writer.end();
}
