"""Every defect that an attack on the program found has a test that failed before it was mended; here is which.

Only that these tests still exist is checked here. Whether a defect comes back, they say themselves.
"""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

TESTS = Path(__file__).parent

DEFECTS = {
    "D1 a copied file lacks labels; no backup": (
        "store/test_backups.py::test_a_backup_is_the_database",
        "store/test_backups.py::test_there_and_back_nothing_changes",
        "store/test_damage.py::test_copies_of_a_file_without_its_log",
    ),
    "D2 damage to the log goes unnoticed": (
        "store/test_damage.py::test_a_changed_log_is_noticed_and_described",
        "store/test_damage.py::test_a_time_that_is_none_is_damage",
        "store/test_damage.py::test_damaged_bytes_are_an_error_or_change_nothing",
        "faces/test_cli_keeping.py::test_damage_at_the_terminal",
    ),
    "D3 a damaged Arrow file kills the process": (
        "io/test_read_damaged.py::test_an_arrow_file_with_a_wrong_offset_is_refused",
    ),
    "D4 wrong lower bounds of dependencies": (
        "test_project.py::test_every_dependency_of_users_has_a_lower_bound",  # and `make lowest` runs on them
    ),
    "D5 a lost database is a crash": (
        "faces/test_web_trouble.py::test_while_the_database_is_gone_the_answer_is_503_and_then_all_is_well",
        "faces/test_web_trouble.py::test_postgresql_goes_away_and_comes_back",
    ),
    "D6 damaged exports of Label Studio crash": (
        "io/test_read_damaged.py::test_misshapen_exports_of_label_studio_are_refused",
    ),
    "D7 prefixes of paths, and routes that a prefix opens": (
        "faces/test_web_prefixes.py::test_behind_a_prefix_every_address_has_it",
        "faces/test_web_prefixes.py::test_mounted_anywhere_nothing_is_open_that_was_closed",
        "faces/test_web_prefixes.py::test_without_a_guard_there_is_still_nobody",
    ),
    "D8 one person freezes an assessment": (
        "faces/test_web_server.py::test_nobody_holds_more_than_their_share",
        "faces/test_web_server.py::test_one_person_cannot_skip_everything",
        "faces/test_web_server.py::test_the_owner_can_take_back_everything_of_one_person",
    ),
    "D9 silent connections keep everybody out": (
        "faces/test_web_trouble.py::test_silent_connections_give_way_and_are_closed",
        "faces/test_web_trouble.py::test_the_connections_that_have_waited_longest_give_way",
        "faces/test_web_trouble.py::test_a_head_that_comes_drop_by_drop_is_not_waited_for",
    ),
    "D10 a clock that was ahead stops leases": ("store/test_keeping.py::test_a_wrong_clock_does_not_stop_leases",),
    "D11 readers crash": (
        "io/test_read_damaged.py::test_integers_that_fit_nowhere_are_refused",
        "io/test_read_damaged.py::test_headers_of_arrays_that_are_no_python",
        "io/test_read_damaged.py::test_columns_of_maps_are_refused_as_ids_and_left_out_otherwise",
        "io/test_read_damaged.py::test_an_encrypted_archive_is_called_so",
    ),
    "D12 thousands of ranges of an image": (
        "faces/test_web_trouble.py::test_ranges_are_not_served_so_that_thousands_of_them_cost_nothing",
    ),
    "D13 every request reads all people": (
        "faces/test_web_server.py::test_a_request_looks_up_one_person_and_the_next_none",
    ),
    "D14 one item with two labels": (
        "faces/test_web_server.py::test_two_labels_of_one_item_are_refused_and_the_same_twice_is_fine",
    ),
    "D15 escapes in names reach the terminal": (
        "faces/test_cli_words.py::test_escapes_in_names_never_reach_the_terminal",
    ),
    "D16 long ids are handed out and refused": ("faces/test_web_server.py::test_ids_of_any_length_can_be_answered",),
    "D17 names . and .., and live views without a limit": (
        "faces/test_web_server.py::test_names_that_an_address_cannot_hold_are_refused",
        "faces/test_web_security.py::test_live_views_are_bounded_for_all_and_for_each",
        "faces/test_web_security.py::test_streams_are_bounded_and_end_for_who_is_locked_out",
    ),
    "D18 formulas in exports": (
        "faces/test_web_server.py::test_formulas_in_ids_are_harmless_in_downloads_and_are_read_back",
    ),
    "D19 errors of the disk without advice, and folders that may only be read": (
        "store/test_keeping.py::test_a_disk_that_fails_is_said_with_advice",
        "store/test_keeping.py::test_a_read_only_folder_can_be_shown",
    ),
    "D20 files that unpack to too much, or are too wide": (
        "io/test_read_damaged.py::test_files_that_unpack_to_too_much_are_refused_unless_the_caller_insists",
        "io/test_read_damaged.py::test_tables_that_are_too_wide_are_refused",
    ),
    "D21 /healthz waits under load": (
        "faces/test_web_trouble.py::test_health_is_answered_while_every_thread_is_at_work",
    ),
    "D22 a cookie that is valid after signing out": (
        "faces/test_web_security.py::test_signing_out_ends_the_cookie_and_not_the_link",
    ),
    "D23 a file deleted while served, and a retried call logged twice": (
        "store/test_keeping.py::test_nothing_is_acknowledged_once_the_file_is_gone",
        "store/test_keeping.py::test_a_commit_whose_answer_is_lost_is_looked_up",
    ),
    # What a second attack found, on what was built since.
    "D24 one damaged assessment keeps people from all others": (
        "faces/test_web_hostile.py::test_one_damaged_assessment_does_not_hide_the_others",
        "faces/test_web_hostile.py::test_one_damaged_assessment_does_not_keep_the_server_from_starting",
    ),
    "D25 items that the form without scripts hands out for ever": (
        "faces/test_web_hostile.py::test_ids_with_line_breaks_can_be_answered_without_scripts",
        "faces/test_web_hostile.py::test_a_text_file_that_cannot_be_read_keeps_nobody_from_the_next_item",
    ),
    "D26 classes that are shown and refused": (
        "faces/test_web_hostile.py::test_classes_of_any_length_can_be_answered",
    ),
    "D27 forms that no page sends are a crash": (
        "faces/test_web_hostile.py::test_a_guide_is_written_over_no_version_but_the_present",
        "faces/test_web_hostile.py::test_a_list_of_meanings_that_is_no_table_is_refused_with_words",
        "faces/test_web_hostile.py::test_a_form_in_another_encoding_is_refused",
        "faces/test_web_hostile.py::test_a_host_that_is_none_makes_no_trouble",
    ),
    "D28 uploads: a full disk, a browser that is closed, times of no calendar": (
        "faces/test_web_hostile.py::test_a_full_disk_is_said_on_the_page_of_the_upload",
        "faces/test_web_hostile.py::test_who_goes_away_during_a_request_is_no_crash",
        "faces/test_web_hostile.py::test_times_that_no_calendar_has_are_said_and_no_crash",
    ),
    "D29 an upload in one tab breaks the page in another": (
        "faces/test_web_hostile.py::test_a_draft_that_ends_in_another_tab_while_its_page_is_made_is_gone",
    ),
    "D30 files of a killed server stay for ever": (
        "faces/test_web_hostile.py::test_what_a_killed_server_left_behind_is_removed_by_the_next",
    ),
    "D31 accents that are written in two ways": (
        "io/test_read_labels.py::test_accents_are_the_same_however_they_are_written",
        "faces/test_web_hostile.py::test_a_picture_is_found_however_its_name_is_written",
    ),
    "D32 a place in the log that is no number": (
        "labelling/test_checkpoint.py::test_places_that_are_no_numbers_of_events_are_damage_and_no_crash",
    ),
    "D33 names of files that are too long": (
        "faces/test_cli_words.py::test_a_name_that_no_disk_can_have_is_said_in_words",
    ),
    "D34 pictures that fill the memory": (
        "faces/test_report_pictures.py::test_a_picture_that_no_memory_holds_is_left_out",
        "faces/test_report_pictures.py::test_a_picture_of_too_many_pixels_is_not_opened",
    ),
    # What a third attack found.
    "D35 names that can mean two things are read as one: A- as A, -1 as 1, !spam as spam": (
        "io/test_read_spellings.py::test_what_can_mean_another_class_is_not_read_as_this_one",
        "io/test_read_spellings.py::test_case_and_marks_of_answers_do_not_matter_if_somebody_says_so",
    ),
    "D36 a table that is replaced in place goes on being asked about": (
        "labelling/test_table_pools.py::test_items_with_other_predictions_are_noticed_before_they_are_handed_out",
        "labelling/test_table_files.py::test_files_that_were_written_again_are_noticed_by_the_next_ask",
    ),
    "D37 a name that is taken is called a lost database": (
        "faces/test_web_security.py::test_names_that_are_taken_or_unknown_are_the_visitors_to_correct",
    ),
    # What a fourth attack found.
    "D38 a small workbook that asks for gigabytes of empty cells": (
        "io/test_excel.py::test_a_few_bytes_cannot_ask_for_any_number_of_cells",
    ),
    "D39 a sheet with a damaged name is left out": (
        "io/test_excel.py::test_a_sheet_that_openpyxl_would_leave_out_is_damage",
    ),
    # What a fifth attack found.
    "D40 patterns and answers of stars that take for ever": (
        "io/test_read_never_right.py::test_many_stars_and_a_long_answer_take_no_time",
        "io/test_read_spellings.py::test_an_answer_of_stars_alone_takes_no_time",
    ),
    "D41 a workbook whose texts stand for a hundred times as much": (
        "io/test_excel.py::test_texts_that_stand_for_others_are_refused",
    ),
    "D42 an output that the shell puts on a full disk": (
        "faces/test_cli_words.py::test_an_output_for_which_there_is_no_room_is_said_in_words",
    ),
    # What a sixth attack found.
    "D43 a damaged place of a log's end is a crash, or changes the order of logs unseen": (
        "store/test_damage.py::test_a_damaged_end_of_a_log_is_noticed_and_costs_no_label",
    ),
    "D44 one lost row keeps every label from a rescue": (
        "store/test_damage.py::test_a_damaged_end_of_a_log_is_noticed_and_costs_no_label",
        "store/test_damage.py::test_one_lost_row_does_not_keep_the_others_from_a_rescue",
    ),
    "D45 a backup is called good that cannot be opened": (
        "store/test_damage.py::test_no_backup_or_copy_is_called_good_that_cannot_be_opened",
    ),
    # What a seventh attack found.
    "D46 a backup that is copied over a database in use, or beside the log of another": (
        "store/test_file.py::test_a_file_that_is_copied_over_one_in_use_is_noticed",
        "store/test_file.py::test_a_backup_beside_the_log_of_the_file_it_replaces_is_refused",
    ),
    "D47 events that are missing before a checkpoint": (
        "labelling/test_checkpoint.py::test_events_that_are_missing_before_a_checkpoint_are_noticed",
    ),
    "D48 a clock that was wrong for a while changes the speed of people": (
        "faces/test_web_dashboard.py::test_a_clock_that_was_wrong_for_a_while_changes_no_speed",
        "faces/test_web_dashboard.py::test_people_whose_clock_was_ahead_when_they_stopped_are_not_there_for_ever",
    ),
    "D49 an export takes the place of a batch that people fill in, or of a database": (
        "faces/test_cli_loop.py::test_a_batch_is_not_written_over_another",
        "store/test_saving.py::test_no_output_takes_the_place_of_a_database",
    ),
    "D50 an id that no database can store stops all asking": (
        "io/test_read_damaged.py::test_texts_that_no_database_can_store_are_refused",
    ),
    "D51 two assessments, or two people, whose names differ only in how an accent is written": (
        "store/test_names.py::test_an_assessment_is_found_however_its_accents_are_written",
        "store/test_names.py::test_a_person_is_one_however_their_accents_are_written",
    ),
}


@pytest.mark.parametrize("defect", DEFECTS)
def test_the_tests_of_a_defect_are_there(defect: str) -> None:
    for place in DEFECTS[defect]:
        file, _, name = place.partition("::")
        tree = ast.parse((TESTS / file).read_text(encoding="utf-8"))
        assert name in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}, place


def test_no_defect_is_left_out() -> None:
    assert [defect.split()[0] for defect in DEFECTS] == [f"D{i}" for i in range(1, 1 + len(DEFECTS))]
