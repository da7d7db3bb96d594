import tseslint from "typescript-eslint";

export default tseslint.config({ ignores: ["node_modules"] }, tseslint.configs.strict, {
  rules: {
    // Indices into columns are right or a test fails; asking at each would hide the arithmetic.
    "@typescript-eslint/no-non-null-assertion": "off",
    "@typescript-eslint/no-unused-vars": ["error", { ignoreRestSiblings: true }],
    eqeqeq: "error",
    "prefer-const": "error",
  },
});
