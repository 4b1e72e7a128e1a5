"""Forward dynamics, one file an algorithm: the text to learn the subject from. All serve chains, `dca_tree` any tree.

Beside them `step` is a whole step with all that acts in it, dense and by definition, which stands on `motion`,
`touching`, `ground`, `convex`, `pair_places` and `contact_law`; docs/step.md walks through it.

`abia` is what the field calls the ABA, `inverse` its RNEA; composite bodies in `jsiia` are its CRBA.

=============  ====================================================================  ======================
module         how τ becomes q̈                                                       parallel steps
=============  ====================================================================  ======================
`abia`         articulated inertias from the tip, accelerations from the base        O(n)
`abia_hybrid`  articulated inertias on the CPU, scans for all else                   O(n), the rest O(log n)
`jsiia`        the mass matrix, its Cholesky factor                                  O(n)
`cfa`          constraint forces by odd-even elimination, refined                    O(log n)
`dca`          articulated inertias of chunks, joined as a scan                      chunk + O(log n)
`dca_tree`     the same along each path of a tree, the outermost paths first         O(log² n)
=============  ====================================================================  ======================

All have one signature, ``forward_dynamics(chain, q, v, tau, …) -> q̈`` with q, v, tau and q̈ (batch, n) arrays of the
chain's own library and number type (a tree's are (batch, nq) and (batch, nv)), and rest on `inverse` (three bi-diagonal
systems) and `engine.blocks`.

Joint by joint the equations of motion are, with [Y]'s numbers,

    Vᵢ = Xᵢ Vᵢ₋₁ + Sᵢ q̇ᵢ                           (2a)
    V̇ᵢ = Xᵢ V̇ᵢ₋₁ + Sᵢ q̈ᵢ + ad(Vᵢ) Sᵢ q̇ᵢ             (2b)   V̇₋₁ = −gravity
    Fᵢ = Xᵢ₊₁ᵀ Fᵢ₊₁ + Jᵢ V̇ᵢ − ad(Vᵢ)ᵀ Jᵢ Vᵢ         (2c)
    τᵢ = Sᵢᵀ Fᵢ                                      (2d)

where Xᵢ = Ad(Tᵢ⁻¹) carries a twist of the link before to link i. Γ holds the Xᵢ below its diagonal, so that (2a) is
(I − Γ) V = S q̇. ([Y] prints (2b) as ad of S q̇ on Γ V and (2c) with a plus; for this X the signs are those above.)
"""
