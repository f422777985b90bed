/**
 * Calls back with each line of a byte stream; LF alone ends one. Node's readline, from version 24 on, also breaks lines
 * at U+2028, which JSON strings may hold.
 */
export function eachLine(input, onLine) {
  let rest = '';
  input.setEncoding('utf8').on('data', (text) => {
    const lines = (rest + text).split('\n');
    rest = lines.pop();
    lines.forEach((line) => onLine(line));
  });
}
