// The least that a Node process can do: read one line, answer it.
let text = '';
process.stdin.on('data', (chunk) => {
  text += chunk;
  if (text.includes('\n')) process.stdout.write('{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1}}\n');
});
