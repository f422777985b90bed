/** Imports point one way: commands -> run -> pipeline -> methods -> operators -> protocol; the instance shares the protocol alone. */
module.exports = {
  forbidden: [
    { name: 'no-cycles', severity: 'error', from: {}, to: { circular: true } },
    { name: 'no-specs-in-lib', severity: 'error', from: { path: '^lib' }, to: { path: '^spec' } },
    { name: 'protocol-is-a-leaf', severity: 'error', from: { path: '^lib/protocol' }, to: { path: '^lib/(?!protocol)' } },
    { name: 'operators-know-the-protocol-only', severity: 'error', from: { path: '^lib/operators' }, to: { path: '^lib/(?!operators|protocol)' } },
    { name: 'methods-are-free-of-effects', severity: 'error', from: { path: '^lib/methods' }, to: { path: '^lib/(sources|sinks|client|instance|local|commands|run|cli|main)' } },
    { name: 'only-the-edge-has-sources-and-sinks', severity: 'error', from: { path: '^lib', pathNot: '^lib/(run\\.ts|commands|sources|sinks|client|local|instance)' }, to: { path: '^lib/(sources|sinks)' } },
    { name: 'adapter-and-instance-share-the-protocol-alone', severity: 'error', from: { path: '^lib/instance' }, to: { path: '^lib/(?!instance|protocol)' } },
    { name: 'adapter-is-free-of-the-instance', severity: 'error', from: { path: '^lib/(run|pipeline|context|methods|operators|sources|sinks|client)' }, to: { path: '^lib/instance' } },
    { name: 'nothing-imports-commands', severity: 'error', from: { path: '^lib', pathNot: '^lib/(main\\.ts|commands)' }, to: { path: '^lib/commands' } },
  ],
  options: {
    tsConfig: { fileName: 'tsconfig.json' },
    tsPreCompilationDeps: true,
    doNotFollow: { path: 'node_modules' },
    enhancedResolveOptions: { exportsFields: ['exports'], conditionNames: ['import', 'node', 'default', 'types'] },
  },
};
