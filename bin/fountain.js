#!/usr/bin/env node
'use strict';
// The launcher: checks Node, switches V8's compile cache on where Node has one, loads the built program.
// Plain old syntax, so that an old Node reaches the message below and not a syntax error.
var version = process.versions.node.split('.').map(Number);
var path = require('path');

function stop(message) {
  process.stderr.write('fountain: ' + message + '\n');
  process.exitCode = 1;
}

if (version[0] < 20 || (version[0] === 20 && version[1] < 19)) {
  stop('needs Node 20.19 or newer; this is Node ' + process.versions.node + ' (' + process.execPath + ')');
} else {
  var program = path.join(__dirname, '..', 'dist', 'fountain.cjs');
  var nodeModule = require('module');
  // Without a cache directory that can be written the program only starts a little slower.
  if (nodeModule.enableCompileCache && !process.env.NODE_DISABLE_COMPILE_CACHE) nodeModule.enableCompileCache();
  if (require('fs').existsSync(program)) require(program);
  else stop('there is no built program at ' + program + '; run "npm install && npm run build" in ' + path.dirname(__dirname));
}
