"""Which tests concern a module: names of test files without `test_`, wherever they lie below tests/."""

from __future__ import annotations

from pathlib import Path

# A module has the tests of its own line, or else those of its folder. They stop at the first failure: quick ones first.
CONCERNED = {
    "laws": "read_numbers what_a_law_says families lattice new_law worst_pairs noise_mechanisms certificate_ranges "
    "lattice_sampling samplers noise_records",
    "laws/block_design.py": "block_design plane_design verifier_design_ranges count_variance worst_pairs best_laws",
    "laws/blocks.py": "block_design plane_design best_laws",
    "laws/difference_sets.py": "block_design plane_design",
    "laws/debias.py": "present_blocks summed_numbers points estimation_scores estimation_unbiased release_query "
    "release_query_designs frequency_protocols groups_under_noise",
    "laws/divergence.py": "gaussian_vectors worst_pairs families lattice certify tight_or_upper curves_noise "
    "composition",
    "laws/gaussian.py": "gaussian_vectors gaussian_record gaussian_cells verifier_coefficients lattice noise_records "
    "noise_mechanisms gaussian_limits curves_noise certificate_ranges lattice_sampling curator_price",
    "laws/guide.py": "guide new_law lattice_sampling samplers",
    "laws/k_norm.py": "k_norm k_norm_terms curves_choice curves_release",
    "laws/keep_or_other.py": "count_variance what_a_law_says families worst_pairs certify release_query "
    "frequency_protocols samplers 2016_theorem_10",
    "laws/lattice.py": "what_a_law_says summed_numbers lattice_nodes lattice_states lattice_clamped clamped_error "
    "lattice new_law certificate_ranges lattice_certificates release_query_numbers lattice_sampling noise_records",
    "laws/laplace.py": "laplace_tables steepest_ratio clamped_error scale uneven_noise lattice wide_noise noise "
    "noise_records certificate_ranges lattice_sampling",
    "laws/law.py": "read_numbers law_as_matrix count_variance points what_a_law_says new_law families worst_pairs "
    "samplers certificate_ranges noise_records release_query_designs release_query",
    "laws/matrix.py": "matrix_odds matrix_variance mean_variance families worst_pairs certify rounding "
    "estimation_scores matrix_file certificate samplers optional missing_release",
    "laws/optional.py": "optional_pairs points mean_variance no_mean_variance what_a_law_says optional optional_curves "
    "missing_release worst_pairs certificate_ranges",
    "laws/points.py": "points_on_grid points release_query_numbers",
    "laws/moments.py": "summed_numbers public_numbers estimation_scores release_query",
    "laws/one_item.py": "one_item worst_pairs best_laws large_sets",
    "laws/row_by_row.py": "rows_and_tables certificate_forgeries",
    "laws/rounded.py": "rounded mean_variance certificate_ranges best_laws",
    "laws/scores.py": "count_variance scores_of_empty_places summed_numbers smoothed_scores estimation_scores "
    "estimation_unbiased release_query release_query_designs frequency_protocols groups_under_noise",
    "laws/sets.py": "count_variance unmixed_sets negative_weights what_a_law_says families worst_pairs "
    "lattice_sampling estimation_scores frequency_protocols release_query_designs certify samplers",
    "laws/simplex.py": "simplex release_query",
    "laws/stairs.py": "uneven_noise lattice noise_records lattice_sampling verifier_bounds certificate_ranges",
    "certification": "certify certificate sufficient_sets tight_or_upper composition lattice_certificates",
    "certification/composing.py": "advanced_delta composition tight_or_upper",
    "certification/loss.py": "exact_products tight_or_upper at_the_prompt composition",
    "certification/certificate.py": "certificate_file certificate_of_nothing certificate certificate_ranges "
    "versions certificate_page lattice_certificates",
    "certification/sufficient_sets.py": "sufficient_sets 2015_theorem_2 2015_theorem_3 2016_theorem_2 2016_example_2",
    "certification/verify_central.py": "central_reach verify_central central_forgeries contrasts several_rows "
    "central_sets central_rows weaker_promise",
    "certification/verify_central_plan.py": "central_reach verify_central central_forgeries central_curve_forgeries "
    "contrasts central_sets central_rows",
    "certification/verify_certificate.py": "verifier_ranges verifier_main verifier_design_ranges verifier_geometric "
    "verifier_bounds verifier_bits verifier_coefficients verifier_digits verifier_pairs certificate_forgeries "
    "certificate certificate_ranges versions lattice_certificates wide_noise release_folder_forgeries "
    "release_forgeries dates curves_release noise_records optional optional_curves sampled_forgeries",
    "curator": "unknown_aggregates curator_groups curator_counts curator_price curator_moments",
    "curator/accuracy.py": "counts_left curator_session curator_odd_questions",
    "curator/account.py": "analyst_spent ledger ledger_rho release_payment curator_session budget_curves ask",
    "curator/select.py": "choice_rates curator_selection unknown_aggregates curator_session curator_price",
    "curator/curator.py": "declared_price before_the_debit curator_rho curator_session ask_once curator_price",
    "curator/curves.py": "curve_sums exact_loss noisy_curves curves_of_few_rows curve_answers curves_curator "
    "curves_as_sums functional_mean_curve",
    "curator/ledger.py": "counts_left ledger budget_rho ask",
    "curator/ledger_file.py": "ledger ledger_rho release_payment curator_session",
    "curator/limits.py": "limits ledger_rho curator_rho ledger",
    "curator/price.py": "price curator_rho ledger_rho curator_distinct curator_price",
    "curator/recipe.py": "what_leaves demanded_noise curator_stderr unknown_aggregates curator_counts "
    "curator_price curator_moments",
    "curator/preview.py": "preview_lines ask answer_notes curator_session curator_selection curator_price",
    "curator/released.py": "before_the_debit moved_intervals what_leaves curator_stderr curve_answers "
    "curator_consistency curator_missing exact_count_intervals curator_counts curator_moments",
    "curator/simulate.py": "noisy_sums impossible_candidates correlated_candidates unknown_aggregates "
    "curator_stderr curator_consistency curator_counts curator_price curator_calculations curator_moments",
    "curator/tally.py": "counting curator_missing curator_distinct curator_consistency curator_session checkboxes "
    "curator_counts curator_moments one_way",
    "curves/bands.py": "path_length drawn_quantile band_coverage curves_of_few_rows curves_estimation curves_curator",
    "curves/bases.py": "curves_bases kernel_norms projection_error curves_left_out curves_noise curves_clipping "
    "curves_choice curves_estimation curves_curator curves_release",
    "curves/columns.py": "curve_columns curves_clipping missing_curves curves_release curves_left_out curves_curator",
    "curves/expansion.py": "curves_clipping curve_sql curves_noise projection_error curves_choice curve_sums "
    "noisy_curves curves_left_out optional_curves curves_release curves_curator certificate_ranges missing_curves",
    "curves/kernels.py": "gaussian_process kernel_norms curves_bases 2015_example_4 curves_choice curves_release",
    "curves/left_out.py": "curves_left_out curves_estimation l2_left_out",
    "curves/noise.py": "curves_noise projection_error curves_choice optional_curves certificate_ranges curves_release "
    "functional_mean_curve curves_estimation",
    "curves/shrinkage.py": "curve_shrinkage curves_estimation query_curves released_curves",
    "curves/vectors.py": "noise_on_vectors",
    "curves/vector_noise.py": "curves_noise gaussian_limits curve_sums noisy_curves optional_curves curves_choice "
    "functional_mean_curve curves_release",
    "curves": "projection_error path_length kernel_norms gaussian_process curves_bases curves_left_out curves_noise "
    "curves_clipping curves_choice curves_curator curves_estimation curves_release curves_examples "
    "functional_mean_curve certificate_ranges 2015_example_4 optional_curves missing_curves",
}


def concerned(module: str, root: Path) -> list[str]:
    """The module, whose docstrings have examples, and the paths of the tests below the root."""
    names = (CONCERNED.get(module) or CONCERNED[module.split("/")[0]]).split()
    found = {
        name: [str(path.relative_to(root)) for path in (root / "tests").rglob(f"test_{name}.py")] for name in names
    }
    absent = [name for name, paths in found.items() if not paths]
    if absent:
        raise SystemExit(f"tests/mutants/concerned_tests.py, {module}: there is no test_{absent[0]}.py below tests/")
    return [f"src/dproof/{module}", *(path for paths in found.values() for path in paths)]
