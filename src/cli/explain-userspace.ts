// What can be told of a Service in userspace mode from outside the agent: its rules, and the relays behind them. Who is remembered and who
// was chosen how often only the agent's relays know.
import type { ServicePort } from '../model/model.ts';
import type { Observations } from '../observe/trace/explain.ts';
import type { Ruleset } from '../observe/trace/ruleset.ts';

export function userspaceObservations({ tables, relays }: Ruleset): Observations {
  return {
    connections: () => undefined,
    remembered: () => [],
    rules: (port) => [
      ...tables.flatMap(({ chains }) =>
        [...chains.values()].flatMap(({ rules }) =>
          rules.filter(({ text }) => isOf(port, text)).map(({ text }) => text),
        ),
      ),
      ...[...(relays?.values() ?? [])]
        .filter(({ name }) => name.startsWith(`${port.displayName}/${port.protocol} `))
        .flatMap(({ text, destinations }) => [text, ...destinations.map((one) => `  ${one.text}`)]),
    ],
  };
}

function isOf({ displayName, protocol }: ServicePort, text: string): boolean {
  return text.includes(`"${displayName}"`) && text.includes(`-p ${protocol.toLowerCase()} `);
}
