import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RunProcess } from '../../kernel/process.ts';
import { listedTables } from './nft-listed.ts';

const CHAINS = `table ip nat {
	chain KUBE-SERVICES {
	}
	chain PREROUTING {
		type nat hook prerouting priority dstnat; policy accept;
	}
}
table inet filter {
	chain forward {
		type filter hook forward priority filter; policy accept;
	}
}
table ip kube-proxy {
	chain services {
	}
}
table ip6 kube-proxy {
	chain services {
	}
}
table bridge filter {
}
`;

/** `gone`: a table that was there when chains were listed. */
function nft(asked: string[], gone = ''): RunProcess {
  return async (_, args) => {
    const question = args.slice(1).join(' ');
    asked.push(question);
    const isGone = question === `table ${gone}`;
    return { status: isGone ? 1 : 0, stdout: question === 'chains' ? CHAINS : `<${question}>`, stderr: '' };
  };
}

test('of nf_tables, tables of a family are listed but for those that are read otherwise', async () => {
  const asked: string[] = [];
  assert.equal(await listedTables('IPv4', nft(asked), ['kube-proxy']), '<table inet filter>');
  assert.deepEqual(asked, ['chains', 'table inet filter']);
  assert.equal(await listedTables('IPv4', nft([]), []), '<table inet filter>\n<table ip kube-proxy>');
  assert.equal(await listedTables('IPv6', nft([]), []), '<table inet filter>\n<table ip6 kube-proxy>');
});

test('where a table cannot be listed by itself, all are', async () => {
  assert.equal(await listedTables('IPv4', nft([], 'inet filter'), ['kube-proxy']), '<ruleset>');
});
