"""Readable reference implementations of forward dynamics, one per file. All support chains, `dca_tree` any tree.

`step` is the reference of a complete simulation step, dense and by definition. It uses `motion`, `touching`, `ground`,
`convex`, `pair_places` and `contact_law`; docs/step.md explains it.

`abia` is commonly known as the ABA, `inverse` as the RNEA, and composite bodies in `jsiia` as the CRBA.

=============  ====================================================================  ======================
module         how τ becomes q̈                                                       parallel steps
=============  ====================================================================  ======================
`abia`         articulated inertias from the tip, accelerations from the base        O(n)
`abia_hybrid`  articulated inertias on the CPU, otherwise scans                      O(n), the rest O(log n)
`jsiia`        the mass matrix, its Cholesky factor                                  O(n)
`cfa`          constraint forces by odd-even elimination, refined                    O(log n)
`dca`          articulated inertias of chunks, joined by a scan                      chunk + O(log n)
`dca_tree`     DCA along each path of a tree, the outermost paths first              O(log² n)
=============  ====================================================================  ======================

All have the signature ``forward_dynamics(chain, q, v, tau, …) -> q̈`` with q, v, tau and q̈ (batch, n) arrays of the
chain's library and number type (for a tree (batch, nq) and (batch, nv)), and use `inverse` (three bi-diagonal systems)
and `engine.blocks`.

The equations of motion, joint by joint, are

    Vᵢ = Xᵢ Vᵢ₋₁ + Sᵢ q̇ᵢ                           [Y] (2a)
    V̇ᵢ = Xᵢ V̇ᵢ₋₁ + Sᵢ q̈ᵢ + ad(Vᵢ) Sᵢ q̇ᵢ             [Y] (2b)   V̇₋₁ = −gravity
    Fᵢ = Xᵢ₊₁ᵀ Fᵢ₊₁ + Jᵢ V̇ᵢ − ad(Vᵢ)ᵀ Jᵢ Vᵢ         [Y] (2c)
    τᵢ = Sᵢᵀ Fᵢ                                      [Y] (2d)

where Xᵢ = Ad(Tᵢ⁻¹) transforms a twist from the parent link to link i. Γ has the Xᵢ below its diagonal, so that [Y] (2a)
is (I − Γ) V = S q̇. (The paper has ad of S q̇ on Γ V in [Y] (2b), and a plus in [Y] (2c); for this X the signs are those
above.)
"""
