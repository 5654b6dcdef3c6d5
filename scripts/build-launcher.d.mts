/** Compiles the native launcher into `<outDir>/launcher/…`; false when that cannot be done here. */
export declare function buildLauncher(outDir?: string): boolean;
