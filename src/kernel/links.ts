// Devices and addresses of the network namespace where the socket was opened. In: requests. Out: what there is.
import type { Family } from '../lib/ip.ts';
import { KernelError } from './error.ts';
import {
  createDummy,
  type Device,
  type DeviceAddress,
  deleteDevice,
  RTM,
  readAddress,
  readDevice,
  writeAddressQuery,
  writeLinkQuery,
} from './links-codec.ts';
import { NLM_F_ACK, NLM_F_DUMP } from './netlink/message.ts';
import { NetlinkSocket } from './netlink/socket.ts';
import { encodeQuery, type NetlinkStep, sendSteps } from './netlink/steps.ts';

export class Links {
  readonly #socket: NetlinkSocket;

  /** `socket` becomes this object's own. */
  constructor(socket = new NetlinkSocket('route')) {
    this.#socket = socket;
  }

  /** Undefined if there is none of that name. */
  async device(name: string): Promise<Device | undefined> {
    const sequence = this.#socket.takeSequence();
    const request = encodeQuery(RTM.getLink, NLM_F_ACK, sequence, (writer) => writeLinkQuery(writer, name));
    try {
      const [reply] = await this.#socket.request(request, sequence, `links.device ${name}`);
      return reply && readDevice(reply.body);
    } catch (error) {
      if (error instanceof KernelError && error.errno === 'ENODEV') return undefined;
      throw error;
    }
  }

  /** A device that carries addresses and no packets. One of that name is taken whatever its kind. */
  async ensureDummy(name: string): Promise<Device> {
    const existing = await this.device(name);
    if (existing) return existing;
    await this.send([createDummy(name)]);
    const made = await this.device(name);
    if (made) return made;
    throw new KernelError('KERNEL_REFUSED', {
      operation: `links.ensureDummy ${name}`,
      detail: 'it was made, but is not there',
    });
  }

  async deleteDevice(device: Device): Promise<void> {
    await this.send([deleteDevice(device)]);
  }

  /** Of all devices, up or down. */
  addresses(family: Family): Promise<DeviceAddress[]> {
    return this.#socket.list(
      (sequence) => encodeQuery(RTM.getAddr, NLM_F_DUMP, sequence, (writer) => writeAddressQuery(writer, family)),
      'links.addresses',
      ({ body }) => readAddress(body),
    );
  }

  send(steps: readonly NetlinkStep[]): Promise<void> {
    return sendSteps(this.#socket, steps, 'links.send');
  }

  close(): void {
    this.#socket.close();
  }
}
