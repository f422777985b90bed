# An ACP agent of a few megabytes, so that hundreds of them fit on one machine. A prompt "COUNT LENGTH" gets that many chunks.
$| = 1;
sub answer { print qq({"jsonrpc":"2.0","id":$_[0],"result":$_[1]}\n) }
while (my $line = <STDIN>) {
  my ($id) = $line =~ /"id":("[^"]*"|\d+)/;
  if ($line =~ /"method":"initialize"/) { answer($id, '{"protocolVersion":1,"agentCapabilities":{}}') }
  elsif ($line =~ /"method":"session\/new"/) { answer($id, '{"sessionId":"s"}') }
  elsif ($line =~ /"method":"session\/prompt".*"text":"(\d+) (\d+)/) {
    my $text = 'x' x $2;
    my $chunk = qq({"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"$text"}}}}\n);
    print $chunk for 1 .. $1;
    answer($id, '{"stopReason":"end_turn"}');
  }
}
