// The kernel's count of nf_tables transactions in this network namespace, whoever made them: it says whether anything can have
// changed, for next to nothing.
import { readAttributes, u32 } from './netlink/attributes.ts';
import { NLM_F_ACK } from './netlink/message.ts';
import { encodeRequest, NFGENMSG_LENGTH, NFPROTO } from './netlink/netfilter.ts';
import type { NetlinkSocket } from './netlink/socket.ts';

const NFT_MSG_GETGEN = 16;
const NFTA_GEN_ID = 1;

export async function nftablesGeneration(socket: NetlinkSocket): Promise<number> {
  const sequence = socket.takeSequence();
  const request = { message: NFT_MSG_GETGEN, flags: NLM_F_ACK, family: NFPROTO.unspecified };
  const data = encodeRequest('nftables', request, sequence);
  const [reply] = await socket.request(data, sequence, 'nftables.generation');
  const id = reply && readAttributes(reply.body, NFGENMSG_LENGTH).get(NFTA_GEN_ID);
  return id ? u32(id) : 0;
}
