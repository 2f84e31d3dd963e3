// Stands for the module that build.mjs makes: tests import the extras directly.
export const shared = {};
